# The storage class experiment, against a mocked AWS with made-up ids (see download.tftest.hcl).

mock_provider "aws" {
  mock_data "aws_caller_identity" { defaults = { account_id = "123456789012" } }
  mock_data "aws_partition" { defaults = { partition = "aws" } }
  mock_data "aws_availability_zones" { defaults = { names = ["us-east-1a", "us-east-1b", "us-east-1c"] } }
  mock_resource "aws_iam_role" { defaults = { arn = "arn:aws:iam::123456789012:role/made-up" } }
  mock_resource "aws_cloudwatch_log_group" { defaults = { arn = "arn:aws:logs:us-east-1:123456789012:log-group:made-up" } }
  mock_resource "aws_cloudwatch_log_delivery_destination" { defaults = { arn = "arn:aws:logs:us-east-1:123456789012:delivery-destination:made-up" } }
}

override_data {
  target = data.aws_availability_zones.of_express
  values = { names = ["us-east-1c"] }
}

variables {
  experiment = "express"
}

run "defaults" {}

run "downloads_in_the_buckets_zone" {
  variables {
    operation           = "download"
    placement           = "same_zone"
    region              = "us-east-1"
    zone_id             = "use1-az6"
    express_bucket_name = "my-own--use1-az6--x-s3"
    scan_limit_mb       = 10
    query_limit_s       = 60
    server_side_proof   = true
  }
}
