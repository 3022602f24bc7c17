# What an AWS that only answers with made-up ids says, for all files of tests/. What only one of them needs stands there.

mock_data "aws_caller_identity" {
  defaults = { account_id = "123456789012", arn = "arn:aws:sts::123456789012:assumed-role/deployer/session" }
}

mock_data "aws_partition" {
  defaults = { partition = "aws" }
}

mock_data "aws_availability_zones" {
  defaults = { names = ["us-east-1a", "us-east-1b", "us-east-1c"] }
}

# The first zone has none of the type.
mock_data "aws_ec2_instance_type_offerings" {
  defaults = { locations = ["us-east-1c", "us-east-1b"] }
}

mock_resource "aws_iam_role" {
  defaults = { arn = "arn:aws:iam::123456789012:role/made-up" }
}

mock_resource "aws_cloudwatch_log_group" {
  defaults = { arn = "arn:aws:logs:us-east-1:123456789012:log-group:made-up" }
}

mock_resource "aws_cloudwatch_log_delivery_destination" {
  defaults = { arn = "arn:aws:logs:us-east-1:123456789012:delivery-destination:made-up" }
}

mock_resource "aws_lambda_layer_version" {
  defaults = { arn = "arn:aws:lambda:us-east-1:123456789012:layer:made-up:1" }
}

mock_resource "aws_lambda_function" {
  defaults = { arn = "arn:aws:lambda:us-east-1:123456789012:function:made-up" }
}

mock_resource "aws_kms_key" {
  defaults = { arn = "arn:aws:kms:us-east-1:123456789012:key/made-up" }
}

mock_resource "aws_efs_file_system" {
  defaults = { arn = "arn:aws:elasticfilesystem:us-east-1:123456789012:file-system/fs-0123456789abcdef0" }
}

mock_resource "aws_efs_access_point" {
  defaults = { arn = "arn:aws:elasticfilesystem:us-east-1:123456789012:access-point/fsap-0123456789abcdef0" }
}

mock_resource "aws_cloudformation_stack" {
  defaults = {
    outputs = {
      FileSystemId   = "fs-0123456789abcdef1"
      FileSystemArn  = "arn:aws:s3files:us-east-1:123456789012:file-system/fs-0123456789abcdef1"
      AccessPointArn = "arn:aws:s3files:us-east-1:123456789012:file-system/fs-0123456789abcdef1/access-point/fsap-0123456789abcdef1"
    }
  }
}

override_resource {
  target = module.queue.aws_sqs_queue.work
  values = {
    arn = "arn:aws:sqs:us-east-1:123456789012:work"
    url = "https://sqs.us-east-1.amazonaws.com/123456789012/work"
  }
}

override_resource {
  target = module.queue.aws_sqs_queue.dead_letters
  values = {
    arn = "arn:aws:sqs:us-east-1:123456789012:dead-letters"
    url = "https://sqs.us-east-1.amazonaws.com/123456789012/dead-letters"
  }
}
