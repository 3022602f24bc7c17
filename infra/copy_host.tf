# The copy by hosts: N EC2 instances run the functions' Go program as a service, receive orders from the queue and copy within one
# bucket, whose objects a KMS key encrypts. A host's only credentials are its instance profile's.

locals {
  is_copy_host = var.experiment == "copy_host"

  # The type's name tells the processor: AWS's own has a g after the generation, as in m7g or c6gn; a1 was the first.
  host_architecture = can(regex("^(a1|[a-z]+[0-9]+[a-z]*g[a-z]*)(-[a-z]+)?\\.", var.instance_type)) ? "arm64" : "x86_64"

  # Everything with this prefix may be deleted.
  copies_prefix = "copies/"

  # The program's variables; its memory is the machine's, and not Lambda's.
  host_environment = merge(local.copy_environment, {
    CONCURRENCY_LIMIT = tostring(var.concurrency_value)
    BUCKET_NAME       = local.data_bucket_name
    EXPERIMENT_TAG    = var.experiment_tag
    QUEUE_URL         = module.queue.url
    LOG_GROUP_NAME    = local.host_log_group_name
    INSTANCE_TYPE     = var.instance_type
    AWS_REGION        = var.region
  })
  host_log_group_name = "/stampede/${local.name}"

  # null: every zone.
  host_zones = one(data.aws_ec2_instance_type_offerings.of_hosts[*].locations)
}

# Not every zone has every type.
data "aws_ec2_instance_type_offerings" "of_hosts" {
  count = local.is_copy_host ? 1 : 0

  location_type = "availability-zone"

  filter {
    name   = "instance-type"
    values = [var.instance_type]
  }

  lifecycle {
    postcondition {
      condition     = length(self.locations) > 0
      error_message = "instance_type = ${jsonencode(var.instance_type)}: must be one that ${var.region} has; choose another type or region."
    }
  }
}

module "key" {
  source = "./modules/key"
  count  = local.is_copy_host ? 1 : 0

  bucket_name  = local.bucket_name
  deployer_arn = data.aws_caller_identity.current.arn
  account_id   = local.account_id
  region       = var.region
  partition    = local.partition
}

# S3's limits don't depend on the zone. The endpoints below are billed by zone, so they are in the first, wherever the hosts are.
module "host_network" {
  source = "./modules/network"
  count  = local.is_copy_host ? 1 : 0

  name        = local.name
  region      = var.region
  inside      = { name = "hosts", description = "Hosts: to S3 and to the interface endpoints." }
  bucket_arns = [local.data_bucket_arn]
  s3_actions  = ["s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:ListBucket"]
}

# The queue, the log, and Session Manager in place of SSH, whose agent doesn't need ec2messages since 3.3.40 (Systems Manager User
# Guide, "Improve the security of EC2 instances by using VPC endpoints"). S3 calls KMS itself.
module "endpoints" {
  source = "./modules/endpoints"
  count  = local.is_copy_host ? 1 : 0

  name                  = local.name
  region                = var.region
  vpc_id                = module.host_network[0].vpc_id
  subnet_ids            = module.host_network[0].subnet_ids
  inside_security_group = module.host_network[0].inside_security_group
  services              = ["sqs", "logs", "ssm", "ssmmessages"]
}

module "host" {
  source = "./modules/host"
  count  = local.is_copy_host ? 1 : 0

  name               = local.name
  role_name          = local.role_name
  host_count         = var.concurrency_value
  instance_type      = var.instance_type
  architecture       = local.architecture
  region             = var.region
  bucket             = { name = local.data_bucket_name, arn = local.data_bucket_arn }
  program_file       = local.copy_program_file
  environment        = local.host_environment
  subnet_id          = [for zone, id in module.host_network[0].subnet_id_in_zone : id if try(contains(local.host_zones, zone), true)][0]
  security_group_id  = module.endpoints[0].inside_security_group_id
  queue_arn          = module.queue.arn
  key_arn            = module.key[0].arn
  statements         = local.copy_statements
  log_group_name     = local.host_log_group_name
  log_retention_days = var.log_retention_days
}
