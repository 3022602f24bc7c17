# The copy by hosts, against an AWS that only answers with made-up ids. The outputs are checked here; what lies inside the modules
# is checked by tests/terraform/test_copy_host.py, which runs these and reads the applied values.

mock_provider "aws" {
  mock_data "aws_caller_identity" { defaults = { account_id = "123456789012", arn = "arn:aws:sts::123456789012:assumed-role/deployer/session" } }
  mock_data "aws_partition" { defaults = { partition = "aws" } }
  mock_data "aws_availability_zones" { defaults = { names = ["us-east-1a", "us-east-1b", "us-east-1c"] } }
  # The first zone has none of the type.
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
      log_group_name          = output.log_group_name
      instance_type           = output.instance_type
      hosts                   = length(output.instance_ids)
      memory_size             = output.memory_size
      ephemeral_storage_mb    = output.ephemeral_storage_mb
      architecture            = output.architecture
      timeout_s               = output.timeout_s
      visibility_timeout_s    = output.visibility_timeout_s
      } == {
      experiment              = "copy_host"
      bucket_name             = "stampede-copy-host-123456789012-us-east-1"
      destination_bucket_name = "stampede-copy-host-123456789012-us-east-1"
      source_prefix           = "source/219120/"
      destination_prefix      = "copies/"
      from_manifest           = true
      queue_name              = "stampede-copy-host"
      log_group_name          = "/stampede/stampede-copy-host"
      instance_type           = "m5a.8xlarge"
      hosts                   = 1
      memory_size             = 512
      ephemeral_storage_mb    = 512
      architecture            = "x86_64"
      timeout_s               = 900
      visibility_timeout_s    = 5400
    }
    error_message = "the published defaults and the names made from them"
  }

  assert {
    condition = output.key_plan == {
      objects            = 219120
      object_bytes       = 1000000
      date_from          = "2015-01-01"
      date_to            = "2019-12-31"
      objects_per_folder = 5
      key_order          = "straight"
      masters            = 1
      slice_rows         = 10000
      seed               = 1
    }
    error_message = "the published five years of five objects an hour"
  }

  assert {
    condition = output.host_environment == {
      EXPERIMENT              = "copy_host"
      BUCKET_NAME             = "stampede-copy-host-123456789012-us-east-1"
      SOURCE_PREFIX           = "source/219120/"
      DESTINATION_BUCKET_NAME = "stampede-copy-host-123456789012-us-east-1"
      DESTINATION_PREFIX      = "copies/"
      OBJECT_COUNT            = "219120"
      KEY_ORDER               = "straight"
      CONCURRENCY_LIMIT       = "1"
      EXPERIMENT_TAG          = "experiment 01"
      QUEUE_URL               = "https://sqs.us-east-1.amazonaws.com/123456789012/work"
      LOG_GROUP_NAME          = "/stampede/stampede-copy-host"
      INSTANCE_TYPE           = "m5a.8xlarge"
      AWS_REGION              = "us-east-1"
    }
    error_message = "what the program reads"
  }

  assert {
    condition = alltrue([for value in [
      output.function_name, output.maximum_concurrency, output.object_key, output.storage
    ] : value == null])
    error_message = "there is no function, and what other experiments alone have is null"
  }
}

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

  assert {
    condition     = output.architecture == "arm64" && length(output.instance_ids) == 3 && output.host_environment.KEY_ORDER == "reversed_hash"
    error_message = "given values come before the defaults"
  }

  assert {
    condition     = output.access_log_group_name == "/aws/vendedlogs/s3/herd-copy-host"
    error_message = "S3's access logs have a group of their own"
  }
}
