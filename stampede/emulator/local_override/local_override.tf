# Changes for the embedded AWS, in a Terraform override file for a copy of infra/, which itself has nothing about emulators.
# The endpoint comes from AWS_ENDPOINT_URL.

provider "aws" {
  # One host name serves every bucket: <bucket>.127.0.0.1 resolves nowhere.
  s3_use_path_style = true

  # The emulator has no metadata service, and its keys need no check.
  skip_metadata_api_check     = true
  skip_credentials_validation = true
  skip_region_validation      = true
}

# The emulator has no PutQueryDefinition; locally the project's own evaluator runs the same files.
resource "aws_cloudwatch_query_definition" "saved" {
  for_each = {}
}

# The emulator neither writes nor delivers server access logs; `stampede doctor` says so.
locals {
  with_access_log = false
}

# The emulator has no DescribeInstanceTypeOfferings, and any zone will do.
data "aws_ec2_instance_type_offerings" "of_hosts" {
  count = 0
}
