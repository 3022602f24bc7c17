# The copy by hosts, against a mocked AWS with made-up ids (see download.tftest.hcl).

mock_provider "aws" {
  mock_data "aws_caller_identity" { defaults = { account_id = "123456789012", arn = "arn:aws:sts::123456789012:assumed-role/deployer/session" } }
  mock_data "aws_partition" { defaults = { partition = "aws" } }
  mock_data "aws_availability_zones" { defaults = { names = ["us-east-1a", "us-east-1b", "us-east-1c"] } }
  # The first zone doesn't have the type.
  mock_data "aws_ec2_instance_type_offerings" { defaults = { locations = ["us-east-1c", "us-east-1b"] } }
  mock_resource "aws_cloudwatch_log_group" { defaults = { arn = "arn:aws:logs:us-east-1:123456789012:log-group:made-up" } }
  mock_resource "aws_cloudwatch_log_delivery_destination" { defaults = { arn = "arn:aws:logs:us-east-1:123456789012:delivery-destination:made-up" } }
  mock_resource "aws_kms_key" { defaults = { arn = "arn:aws:kms:us-east-1:123456789012:key/made-up" } }

  override_resource {
    target = module.queue.aws_sqs_queue.work
    values = {
      arn = "arn:aws:sqs:us-east-1:123456789012:work"
      url = "https://sqs.us-east-1.amazonaws.com/123456789012/work"
    }
  }
}

variables {
  experiment = "copy_host"
}

run "defaults" {}

run "three_small_hosts_on_arm" {
  variables {
    concurrency_value  = 3
    instance_type      = "m7g.4xlarge"
    architecture       = "arm64"
    bucket_key         = false
    key_order          = "reversed_hash"
    s3_bucket_name     = "my.own-bucket"
    prefix             = "herd"
    region             = "eu-west-1"
    log_retention_days = 30
    server_side_proof  = true
  }
}
