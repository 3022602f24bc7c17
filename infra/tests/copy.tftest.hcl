# The copy by functions, against a mocked AWS with made-up ids (see download.tftest.hcl).

mock_provider "aws" {
  mock_data "aws_caller_identity" { defaults = { account_id = "123456789012" } }
  mock_data "aws_partition" { defaults = { partition = "aws" } }
  mock_resource "aws_iam_role" { defaults = { arn = "arn:aws:iam::123456789012:role/made-up" } }
  mock_resource "aws_cloudwatch_log_group" { defaults = { arn = "arn:aws:logs:us-east-1:123456789012:log-group:made-up" } }
  mock_resource "aws_cloudwatch_log_delivery_destination" { defaults = { arn = "arn:aws:logs:us-east-1:123456789012:delivery-destination:made-up" } }
}

variables {
  experiment = "copy"
}

run "defaults" {}

run "many_functions_share_a_manifest" {
  variables {
    from_manifest      = true
    concurrency_value  = 500
    object_count       = 219120
    object_bytes       = 1000000
    date_from          = "2015-01-01"
    date_to            = "2019-12-31"
    objects_per_folder = 5
    key_order          = "reversed_hash"
    masters            = 10
    slice_rows         = 400
    data_seed          = 7
    memory_size        = 1769
    timeout_s          = 600
    architecture       = "arm64"
    server_side_proof  = true
  }
}
