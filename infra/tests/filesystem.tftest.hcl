# The file system experiment, against a mocked AWS with made-up ids (see download.tftest.hcl).

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

run "defaults" {}

run "s3_in_vpc_beside_s3files" {
  variables {
    storage      = "s3_in_vpc"
    with_s3files = true
    read_method  = "pool"
    memory_size  = 512
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
}

run "s3files" {
  variables {
    storage      = "s3files"
    with_s3files = true
  }
}

run "s3files_through_the_file_system" {
  variables {
    storage        = "s3files"
    with_s3files   = true
    direct_s3_read = "DISABLED"
  }
}
