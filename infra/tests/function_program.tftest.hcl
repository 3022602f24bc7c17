# The function experiment with somebody's program for provided.al2023 (download.tftest.hcl says who compares it). The folder is one
# that holds a bootstrap.

mock_provider "aws" {
  mock_data "aws_caller_identity" { defaults = { account_id = "123456789012" } }
  mock_data "aws_partition" { defaults = { partition = "aws" } }
  mock_resource "aws_iam_role" { defaults = { arn = "arn:aws:iam::123456789012:role/made-up" } }
  mock_resource "aws_cloudwatch_log_group" { defaults = { arn = "arn:aws:logs:us-east-1:123456789012:log-group:made-up" } }
  mock_resource "aws_lambda_layer_version" { defaults = { arn = "arn:aws:lambda:us-east-1:123456789012:layer:made-up:1" } }
}

variables {
  experiment   = "function"
  runtime      = "provided.al2023"
  package      = "../functions/transfer/build/arm64"
  architecture = "arm64"
}

run "a_folder" {}

run "a_zip" {
  variables {
    package = "tests/program.zip"
  }
}
