# The user's own function, against an AWS that only answers with made-up ids. The outputs are checked here; what lies inside the
# modules is checked by tests/terraform/test_function.py, which runs these and reads the applied values.

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

run "defaults" {
  assert {
    condition = {
      experiment           = output.experiment
      package              = output.package
      handler              = output.handler
      runtime              = output.runtime
      function_name        = output.function_name
      log_group_name       = output.log_group_name
      queue_name           = output.queue_name
      memory_size          = output.memory_size
      ephemeral_storage_mb = output.ephemeral_storage_mb
      architecture         = output.architecture
      timeout_s            = output.timeout_s
      visibility_timeout_s = output.visibility_timeout_s
      } == {
      experiment           = "function"
      package              = "thumbnail"
      handler              = "app.handler"
      runtime              = "python3.12"
      function_name        = "stampede-function"
      log_group_name       = "/aws/lambda/stampede-function"
      queue_name           = "stampede-function"
      memory_size          = 1024
      ephemeral_storage_mb = 512
      architecture         = "x86_64"
      timeout_s            = 30
      visibility_timeout_s = 180
    }
    error_message = "the defaults and the names made from them"
  }
}

run "with_everything_that_is_the_users" {
  variables {
    handler           = "pkg/app.main"
    runtime           = "python3.13"
    architecture      = "arm64"
    concurrency_value = 500
    environment       = { GREETING = "hello" }
    layers            = ["arn:aws:lambda:us-east-1:123456789012:layer:numpy:3"]
    policy_file       = "tests/policy.json"
  }

  assert {
    condition     = output.handler == "pkg/app.main" && output.runtime == "python3.13" && output.architecture == "arm64"
    error_message = "the user's choices arrive"
  }
}
