# What the embedded AWS needs to be different: a Terraform override file, laid over a copy of infra/. infra/ itself knows
# nothing of emulators. The endpoint comes from AWS_ENDPOINT_URL.

provider "aws" {
  # One host name serves every bucket: <bucket>.127.0.0.1 resolves nowhere.
  s3_use_path_style = true

  # The emulator has no metadata service and takes any key.
  skip_metadata_api_check     = true
  skip_credentials_validation = true
  skip_region_validation      = true
}

# The emulator has no PutQueryDefinition; locally the project's own evaluator runs the very same files.
resource "aws_cloudwatch_query_definition" "saved" {
  for_each = {}
}

# The emulator writes no server access logs, and has nothing that would deliver them; `stampede doctor` says so.
locals {
  with_access_log = false
}

# The emulator has no DescribeInstanceTypeOfferings; any zone does there.
data "aws_ec2_instance_type_offerings" "of_hosts" {
  count = 0
}
