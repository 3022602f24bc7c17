# The whole deployment, against an AWS that only answers with made-up ids. The outputs are checked here; what lies inside the
# modules is checked by tests/terraform/test_deployment.py, which runs these and reads the applied values. The runs with Go and
# with the CRT need what `make functions` builds.

mock_provider "aws" {
  mock_data "aws_caller_identity" { defaults = { account_id = "123456789012" } }
  mock_data "aws_partition" { defaults = { partition = "aws" } }
  mock_resource "aws_iam_role" { defaults = { arn = "arn:aws:iam::123456789012:role/made-up" } }
  mock_resource "aws_cloudwatch_log_group" { defaults = { arn = "arn:aws:logs:us-east-1:123456789012:log-group:made-up" } }
  mock_resource "aws_cloudwatch_log_delivery_destination" { defaults = { arn = "arn:aws:logs:us-east-1:123456789012:delivery-destination:made-up" } }
  mock_resource "aws_lambda_layer_version" { defaults = { arn = "arn:aws:lambda:us-east-1:123456789012:layer:made-up:1" } }

  override_resource {
    target = module.queue.aws_sqs_queue.work
    values = {
      arn = "arn:aws:sqs:us-east-1:123456789012:work"
      url = "https://sqs.us-east-1.amazonaws.com/123456789012/work"
    }
  }
}

run "defaults" {
  assert {
    condition = {
      experiment           = output.experiment
      region               = output.region
      account_id           = output.account_id
      prefix               = output.prefix
      bucket_name          = output.bucket_name
      object_key           = output.object_key
      queue_name           = output.queue_name
      function_name        = output.function_name
      log_group_name       = output.log_group_name
      memory_size          = output.memory_size
      concurrency_value    = output.concurrency_value
      experiment_tag       = output.experiment_tag
      method               = output.method
      sink                 = output.sink
      range_parallel       = output.range_parallel
      range_part_mb        = output.range_part_mb
      object_size_mb       = output.object_size_mb
      ephemeral_storage_mb = output.ephemeral_storage_mb
      timeout_s            = output.timeout_s
      visibility_timeout_s = output.visibility_timeout_s
      max_receive_count    = output.max_receive_count
      architecture         = output.architecture
      } == {
      experiment           = "download"
      region               = "us-east-1"
      account_id           = "123456789012"
      prefix               = "stampede"
      bucket_name          = "stampede-download-123456789012-us-east-1"
      object_key           = "sample_large_file.dat"
      queue_name           = "stampede-download"
      function_name        = "stampede-download"
      log_group_name       = "/aws/lambda/stampede-download"
      memory_size          = 2048
      concurrency_value    = 1
      experiment_tag       = "experiment 01"
      method               = "download_file"
      sink                 = "tmp"
      range_parallel       = 8
      range_part_mb        = 16
      object_size_mb       = 1024
      ephemeral_storage_mb = 1200
      timeout_s            = 60
      visibility_timeout_s = 360
      max_receive_count    = 5
      architecture         = "x86_64"
    }
    error_message = "the published defaults and the names made from them"
  }

  assert {
    condition     = output.access_log_group_name == null && output.worker_role_name == "stampede-download-us-east-1"
    error_message = "S3's access logs are written and billed only where they are asked for"
  }

  assert {
    condition     = output.maximum_concurrency == 2 && output.provisioned_pollers == null
    error_message = "for one function at a time the trigger has the smallest cap there is"
  }
}

run "five_hundred_with_the_crt" {
  variables {
    concurrency_value = 500
    memory_size       = 1024
    experiment_tag    = "experiment 02"
    method            = "crt"
  }

  assert {
    condition     = output.maximum_concurrency == 500
    error_message = "from two functions on, the trigger is capped at concurrency_value"
  }

  assert {
    condition     = output.sink == "tmp"
    error_message = "the CRT writes a file"
  }
}

# As many as provider 6.34 accepts, with ten invocations at once a poller.
run "provisioned_pollers_and_go_into_memory" {
  variables {
    concurrency_value    = 20000
    provisioned_pollers  = { minimum = 200, maximum = 2000 }
    method               = "go_ranges"
    memory_size          = 1152
    ephemeral_storage_mb = 512
    range_parallel       = 64
    range_part_mb        = 64
  }

  assert {
    condition     = output.maximum_concurrency == null && output.provisioned_pollers.minimum == 200 && output.provisioned_pollers.maximum == 2000
    error_message = "provisioned pollers take the place of the trigger's cap"
  }

  assert {
    condition     = output.method == "go_ranges" && output.sink == "memory" && output.range_parallel == 64 && output.range_part_mb == 64
    error_message = "ranges go into memory when nothing else is said"
  }
}

run "own_values" {
  variables {
    s3_bucket_name       = "my.own-bucket"
    s3_file_name         = "data/big-file's_(1).bin"
    prefix               = "herd"
    region               = "eu-west-1"
    concurrency_value    = 500
    maximum_concurrency  = 100
    timeout_s            = 900
    visibility_timeout_s = 43200
    object_size_mb       = 10176
    ephemeral_storage_mb = 10240
    memory_size          = 10240
    log_retention_days   = 30
    architecture         = "arm64"
    server_side_proof    = true
  }

  assert {
    condition     = output.maximum_concurrency == 100 && output.visibility_timeout_s == 43200 && output.bucket_name == "my.own-bucket"
    error_message = "given values come before the ones that are worked out"
  }

  assert {
    condition     = output.access_log_group_name == "/aws/vendedlogs/s3/herd-download"
    error_message = "S3's access logs have a group of their own"
  }
}

run "go_on_arm" {
  variables {
    method               = "go_stream"
    architecture         = "arm64"
    memory_size          = 128
    ephemeral_storage_mb = 512
    maximum_concurrency  = 2
  }

  assert {
    condition     = output.sink == "discard" && output.maximum_concurrency == 2
    error_message = "a stream is discarded by default; the default cap may also be given"
  }
}
