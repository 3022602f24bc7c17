# The whole deployment, against a mocked AWS with made-up ids: tests/terraform/test_deployment.py runs these and compares the
# resources with tests/data/infra. Runs with Go and the CRT need the builds of `make functions`.

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

run "defaults" {}

run "five_hundred_with_the_crt" {
  variables {
    concurrency_value = 500
    memory_size       = 1024
    experiment_tag    = "experiment 02"
    method            = "crt"
  }
}

# The maximum of provider 6.34, with ten concurrent invocations a poller.
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
}

run "go_on_arm" {
  variables {
    method               = "go_stream"
    architecture         = "arm64"
    memory_size          = 128
    ephemeral_storage_mb = 512
    maximum_concurrency  = 2
  }
}

# One permission to read the object and one to decrypt it only through S3; its bucket isn't managed.
run "an_object_of_the_users_own" {
  variables {
    s3_bucket_name     = "my-own"
    s3_file_name       = "models/day=1/v3 (final)+more.bin"
    existing_bucket    = true
    object_kms_key_arn = "arn:aws:kms:us-east-1:123456789012:key/1234"
    requester_pays     = true
  }
}
