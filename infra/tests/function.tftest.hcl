# The user's own function, against a mocked AWS with made-up ids (see download.tftest.hcl).

mock_provider "aws" {
  mock_data "aws_caller_identity" { defaults = { account_id = "123456789012" } }
  mock_data "aws_partition" { defaults = { partition = "aws" } }
  mock_resource "aws_iam_role" { defaults = { arn = "arn:aws:iam::123456789012:role/made-up" } }
  mock_resource "aws_cloudwatch_log_group" { defaults = { arn = "arn:aws:logs:us-east-1:123456789012:log-group:made-up" } }
  mock_resource "aws_lambda_layer_version" { defaults = { arn = "arn:aws:lambda:us-east-1:123456789012:layer:made-up:1" } }
}

variables {
  experiment = "function"
  package    = "../examples/thumbnail"
}

run "defaults" {}

run "with_everything_that_is_the_users" {
  variables {
    handler           = "pkg/app.main"
    runtime           = "python3.13"
    architecture      = "arm64"
    concurrency_value = 500
    environment       = { GREETING = "hello" }
    layers            = ["arn:aws:lambda:us-east-1:123456789012:layer:numpy:3"]
    policy_file       = "tests/policy.json"
    batch_size        = 20
    batching_window_s = 5
  }
}

# A user's program for provided.al2023: a folder with a bootstrap, and a zip.
run "a_program_in_a_folder" {
  variables {
    runtime      = "provided.al2023"
    package      = "../functions/transfer/build/arm64"
    architecture = "arm64"
  }
}

run "a_program_in_a_zip" {
  variables {
    runtime      = "provided.al2023"
    package      = "tests/program.zip"
    architecture = "arm64"
  }
}

run "in_subnets_of_the_users" {
  variables {
    handler            = "example.Handler::handleRequest"
    runtime            = "java21"
    subnet_ids         = ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"]
    security_group_ids = ["sg-0123456789abcdef0"]
  }
}
