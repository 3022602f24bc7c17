# The file system experiment, against an AWS that only answers with made-up ids. The outputs are checked here; what lies inside
# the modules is checked by tests/terraform/test_filesystem.py, which runs these and reads the applied values.

mock_provider "aws" {
  mock_data "aws_caller_identity" { defaults = { account_id = "123456789012" } }
  mock_data "aws_partition" { defaults = { partition = "aws" } }
  mock_data "aws_availability_zones" { defaults = { names = ["us-east-1a", "us-east-1b", "us-east-1c"] } }
  mock_resource "aws_iam_role" { defaults = { arn = "arn:aws:iam::123456789012:role/made-up" } }
  mock_resource "aws_cloudwatch_log_group" { defaults = { arn = "arn:aws:logs:us-east-1:123456789012:log-group:made-up" } }
  mock_resource "aws_cloudwatch_log_delivery_destination" { defaults = { arn = "arn:aws:logs:us-east-1:123456789012:delivery-destination:made-up" } }
  mock_resource "aws_efs_file_system" { defaults = { arn = "arn:aws:elasticfilesystem:us-east-1:123456789012:file-system/fs-0123456789abcdef0" } }
  mock_resource "aws_efs_access_point" { defaults = { arn = "arn:aws:elasticfilesystem:us-east-1:123456789012:access-point/fsap-0123456789abcdef0" } }

  mock_resource "aws_cloudformation_stack" {
    defaults = {
      outputs = {
        FileSystemId   = "fs-0123456789abcdef1"
        FileSystemArn  = "arn:aws:s3files:us-east-1:123456789012:file-system/fs-0123456789abcdef1"
        AccessPointArn = "arn:aws:s3files:us-east-1:123456789012:file-system/fs-0123456789abcdef1/access-point/fsap-0123456789abcdef1"
      }
    }
  }
}

variables {
  experiment = "filesystem"
}

run "defaults" {
  assert {
    condition = {
      experiment            = output.experiment
      bucket_name           = output.bucket_name
      queue_name            = output.queue_name
      function_name         = output.function_name
      placing_function_name = output.placing_function_name
      memory_size           = output.memory_size
      ephemeral_storage_mb  = output.ephemeral_storage_mb
      architecture          = output.architecture
      storage               = output.storage
      read_method           = output.read_method
      cache                 = output.cache
      large_file_mb         = output.large_file_mb
      small_files           = output.small_files
      subnet_count          = output.subnet_count
      throughput_mode       = output.throughput_mode
      } == {
      experiment            = "filesystem"
      bucket_name           = "stampede-filesystem-123456789012-us-east-1"
      queue_name            = "stampede-filesystem"
      function_name         = "stampede-filesystem"
      placing_function_name = "stampede-filesystem-placing-efs"
      memory_size           = 2048
      ephemeral_storage_mb  = 1228
      architecture          = "arm64"
      storage               = "s3"
      read_method           = "download_file"
      cache                 = "keep"
      large_file_mb         = 1024
      small_files           = 1000
      subnet_count          = 2
      throughput_mode       = "elastic"
    }
    error_message = "the published defaults and the names made from them"
  }

  assert {
    condition = alltrue([for value in [
      output.object_key, output.method, output.sink, output.range_parallel, output.range_part_mb, output.object_size_mb
    ] : value == null])
    error_message = "what the download alone has is null"
  }
}

run "s3_in_vpc_beside_s3files" {
  variables {
    storage      = "s3_in_vpc"
    with_s3files = true
    read_method  = "pool"
    memory_size  = 512
  }

  assert {
    condition     = output.storage == "s3_in_vpc" && output.read_method == "pool"
    error_message = "the control in the network"
  }

  assert {
    condition     = output.placing_function_name == "stampede-filesystem-placing-efs"
    error_message = "what isn't measured isn't filled"
  }
}

run "efs" {
  variables {
    storage         = "efs"
    cache           = "drop"
    throughput_mode = "bursting"
    subnet_count    = 3
    memory_size     = 3008

    server_side_proof = true
  }

  assert {
    condition     = output.throughput_mode == "bursting" && output.subnet_count == 3 && output.cache == "drop"
    error_message = "given values come before the defaults"
  }

  assert {
    condition     = output.access_log_group_name == "/aws/vendedlogs/s3/stampede-filesystem"
    error_message = "S3's access logs have a group of their own"
  }
}

run "s3files" {
  variables {
    storage      = "s3files"
    with_s3files = true
  }

  assert {
    condition     = output.placing_function_name == "stampede-filesystem-placing-s3files"
    error_message = "each file system has a function that fills it"
  }
}

run "s3files_through_the_file_system" {
  variables {
    storage        = "s3files"
    with_s3files   = true
    direct_s3_read = "DISABLED"
  }
}
