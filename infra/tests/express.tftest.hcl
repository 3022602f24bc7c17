# The storage class experiment, against an AWS that only answers with made-up ids. The outputs are checked here; what lies inside
# the modules is checked by tests/terraform/test_express.py, which runs these and reads the applied values.

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

run "defaults" {
  assert {
    condition = {
      experiment            = output.experiment
      bucket_name           = output.bucket_name
      express_bucket_name   = output.express_bucket_name
      zone_id               = output.zone_id
      operation             = output.operation
      placement             = output.placement
      queue_name            = output.queue_name
      function_name         = output.function_name
      placing_function_name = output.placing_function_name
      log_group_name        = output.log_group_name
      athena_workgroup_name = output.athena_workgroup_name
      athena_database_name  = output.athena_database_name
      scan_limit_mb         = output.scan_limit_mb
      query_limit_s         = output.query_limit_s
      memory_size           = output.memory_size
      ephemeral_storage_mb  = output.ephemeral_storage_mb
      architecture          = output.architecture
      timeout_s             = output.timeout_s
      } == {
      experiment            = "express"
      bucket_name           = "stampede-express-123456789012-us-east-1"
      express_bucket_name   = "stampede-express-123456789012--use1-az4--x-s3"
      zone_id               = "use1-az4"
      operation             = "upload"
      placement             = "any_zone"
      queue_name            = "stampede-express"
      function_name         = "stampede-express"
      placing_function_name = "stampede-express-placing"
      log_group_name        = "/aws/lambda/stampede-express"
      athena_workgroup_name = "stampede-express"
      athena_database_name  = "stampede_express"
      scan_limit_mb         = 20000
      query_limit_s         = 600
      memory_size           = 2048
      ephemeral_storage_mb  = 8192
      architecture          = "arm64"
      timeout_s             = 900
    }
    error_message = "the defaults and the names made from them"
  }

  assert {
    condition = alltrue([for value in [
      output.object_key, output.storage, output.object_count, output.destination_bucket_name, output.instance_ids
    ] : value == null])
    error_message = "what other experiments alone have is null"
  }
}

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

  assert {
    condition = (
      output.zone_id == "use1-az6" && output.express_bucket_name == "my-own--use1-az6--x-s3" &&
      output.scan_limit_mb == 10 && output.query_limit_s == 60
    )
    error_message = "given values come before the defaults"
  }

  assert {
    condition     = output.access_log_group_name == "/aws/vendedlogs/s3/stampede-express"
    error_message = "S3's access logs have a group of their own"
  }
}
