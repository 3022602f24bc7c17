# The copy by functions, against an AWS that only answers with made-up ids. The outputs are checked here; what lies inside the
# modules is checked by tests/terraform/test_copy.py, which runs these and reads the applied values.

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

run "defaults" {
  assert {
    condition = {
      experiment              = output.experiment
      bucket_name             = output.bucket_name
      destination_bucket_name = output.destination_bucket_name
      source_prefix           = output.source_prefix
      destination_prefix      = output.destination_prefix
      from_manifest           = output.from_manifest
      queue_name              = output.queue_name
      function_name           = output.function_name
      log_group_name          = output.log_group_name
      memory_size             = output.memory_size
      ephemeral_storage_mb    = output.ephemeral_storage_mb
      architecture            = output.architecture
      concurrency_value       = output.concurrency_value
      maximum_concurrency     = output.maximum_concurrency
      timeout_s               = output.timeout_s
      visibility_timeout_s    = output.visibility_timeout_s
      } == {
      experiment              = "copy"
      bucket_name             = "stampede-copy-123456789012-us-east-1"
      destination_bucket_name = "stampede-copy-copies-123456789012-us-east-1"
      source_prefix           = "source/1000/"
      destination_prefix      = ""
      from_manifest           = false
      queue_name              = "stampede-copy"
      function_name           = "stampede-copy"
      log_group_name          = "/aws/lambda/stampede-copy"
      memory_size             = 512
      ephemeral_storage_mb    = 512
      architecture            = "x86_64"
      concurrency_value       = 1
      maximum_concurrency     = 2
      timeout_s               = 900
      visibility_timeout_s    = 5400
    }
    error_message = "the published defaults and the names made from them"
  }

  assert {
    condition = output.key_plan == {
      objects            = 1000
      object_bytes       = 20000000
      date_from          = "2015-01-01"
      date_to            = "2019-12-31"
      objects_per_folder = 5
      key_order          = "straight"
      masters            = 1
      slice_rows         = 1000
      seed               = 1
    }
    error_message = "the published thousand objects"
  }

  assert {
    condition = alltrue([for value in [
      output.object_key, output.storage, output.host_environment, output.instance_ids, output.instance_type
    ] : value == null])
    error_message = "what other experiments alone have is null"
  }
}

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

  assert {
    condition = output.from_manifest && output.visibility_timeout_s == 3600 && output.maximum_concurrency == 500 && output.key_plan == {
      objects            = 219120
      object_bytes       = 1000000
      date_from          = "2015-01-01"
      date_to            = "2019-12-31"
      objects_per_folder = 5
      key_order          = "reversed_hash"
      masters            = 10
      slice_rows         = 400
      seed               = 7
    }
    error_message = "as many objects as the folders hold, and given values come before the defaults"
  }

  assert {
    condition     = output.access_log_group_name == "/aws/vendedlogs/s3/stampede-copy"
    error_message = "S3's access logs have a group of their own"
  }
}
