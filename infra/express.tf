# The storage class experiment: the same objects in a bucket of S3 Standard and in one of S3 Express One Zone, uploaded and read by
# the function, and queried by Athena. Both buckets, their tables and the function that fills them are always deployed.

locals {
  is_express = var.experiment == "express"

  express_in_tmp = { mb = 0, what = "nothing" } # depends on the work order: parallel_limit x object_bytes

  # Zones with directory buckets. The default of zone_id is the first of the region.
  express_zones       = jsondecode(file("${path.module}/express_zones.json")).zones
  zones_of_the_region = lookup(local.express_zones, var.region, [])
  first_zone_id       = try(local.zones_of_the_region[0], "none")
  zone_id             = coalesce(var.zone_id, local.first_zone_id)
  express_suffix      = "--${local.zone_id}--x-s3"

  express_bucket_name = coalesce(var.express_bucket_name, "${local.name}-${local.account_id}${local.express_suffix}")

  # The objects' prefix in both buckets, the partitions of their tables, and the columns of their lines.
  objects_prefix    = "data/"
  object_partitions = ["object_bytes", "object_count"]
  object_columns = [
    { name = "object", type = "string" },
    { name = "value", type = "int" },
    { name = "pad", type = "string" },
  ]
  objects_arn = "${local.data_bucket_arn}/${local.objects_prefix}*"

  # For single requests to Standard; a session of Express covers all requests.
  read_objects  = { Sid = "ReadTheObjects", Effect = "Allow", Action = "s3:GetObject", Resource = local.objects_arn }
  write_objects = { Sid = "WriteTheObjects", Effect = "Allow", Action = "s3:PutObject", Resource = local.objects_arn }
  list_objects = {
    Sid       = "ListTheObjects"
    Effect    = "Allow"
    Action    = "s3:ListBucket"
    Resource  = local.data_bucket_arn
    Condition = { StringLike = { "s3:prefix" = "${local.objects_prefix}*" } }
  }
  read_express  = one(module.directory_bucket[*].statements.read)
  write_express = one(module.directory_bucket[*].statements.write)

  express_environment = {
    EXPERIMENT          = var.experiment
    OPERATION           = var.operation
    EXPRESS_BUCKET_NAME = local.is_express ? module.directory_bucket[0].name : ""
    PLACEMENT           = var.placement
  }

  in_the_zone = {
    subnet_ids         = [for network in module.zone_network : network.subnet_id_in_zone[data.aws_availability_zones.of_express[0].names[0]]]
    security_group_ids = [for network in module.zone_network : network.inside_security_group.id]
  }

  express = {
    description  = "Puts or reads objects of a storage class, one record a message."
    program_file = local.copy_program_file
    zip_name     = "transfer-${local.architecture}"
    handler      = "bootstrap"
    runtime      = "provided.al2023"
    network      = local.in_the_zone
    in_network   = var.placement == "same_zone"
    environment  = local.express_environment

    # The user and not the function runs Athena's queries, with the user's permissions.
    statements = {
      upload    = [local.write_objects, local.write_express]
      download  = [local.read_objects, local.read_express]
      count     = []
      aggregate = []
    }[var.operation]
  }
}

module "directory_bucket" {
  source = "./modules/directory_bucket"
  count  = local.is_express ? 1 : 0

  name       = local.express_bucket_name
  zone_id    = local.zone_id
  account_id = local.account_id
  region     = var.region
  partition  = local.partition
}

module "athena" {
  source = "./modules/athena"
  count  = local.is_express ? 1 : 0

  name          = local.name
  database_name = replace(local.name, "-", "_")
  # With a prefix of 20 letters and the longest region it has 63 letters, S3's maximum.
  results_bucket_name = "${local.name}-athena-${local.account_id}-${var.region}"
  scan_limit_mb       = var.scan_limit_mb
  columns             = local.object_columns
  partition_keys      = local.object_partitions
  account_id          = local.account_id
  partition           = local.partition

  tables = {
    standard = "s3://${local.data_bucket_name}/${local.objects_prefix}"
    express  = "s3://${module.directory_bucket[0].name}/${local.objects_prefix}"
  }
}

# This account's name for the zone.
data "aws_availability_zones" "of_express" {
  count = local.is_express ? 1 : 0

  filter {
    name   = "zone-id"
    values = [local.zone_id]
  }

  lifecycle {
    postcondition {
      condition     = length(self.names) > 0
      error_message = "zone_id = ${jsonencode(local.zone_id)}: must be a zone that this account has in ${var.region}; choose another one."
    }
  }
}

# Independent of `placement`, and free: a function that has just left the network still has interfaces in it.
module "zone_network" {
  source = "./modules/network"
  count  = local.is_express ? 1 : 0

  name                  = local.name
  region                = var.region
  inside                = { name = "functions", description = "Functions: to S3, of either class." }
  bucket_arns           = [local.data_bucket_arn]
  s3_actions            = ["s3:GetObject", "s3:PutObject"]
  directory_bucket_arns = [module.directory_bucket[0].arn]
}

# Through SQS the function brings a failed message back after seconds; by itself it would come back after six times timeout_s.
# Billed by the hour, so only while the function is in the network.
module "zone_sqs_endpoint" {
  source = "./modules/endpoints"
  count  = local.is_express && var.placement == "same_zone" ? 1 : 0

  name                  = local.name
  region                = var.region
  vpc_id                = module.zone_network[0].vpc_id
  subnet_ids            = local.in_the_zone.subnet_ids
  inside_security_group = module.zone_network[0].inside_security_group
  services              = ["sqs"]
}

# Uploads the missing objects for downloads and queries. It is only invoked, always outside of the network, and may write with
# every `operation`.
module "placing_objects" {
  source = "./modules/worker"
  count  = local.is_express ? 1 : 0

  name                 = "${local.name}-placing"
  description          = "Puts a set of objects into a bucket of either storage class."
  account_id           = local.account_id
  role_name            = "${local.name}-placing-${var.region}"
  source_folders       = []
  program_file         = local.copy_program_file
  zip_file             = "${path.root}/.build/express-placing.zip"
  handler              = "bootstrap"
  runtime              = "provided.al2023"
  architecture         = local.architecture
  memory_size_mb       = 1769 # one whole processor
  timeout_s            = 900
  ephemeral_storage_mb = 512
  statements           = [local.list_objects, local.write_objects, local.write_express]
  log_retention_days   = var.log_retention_days

  environment = merge(local.express_environment, {
    OPERATION         = "upload"
    PLACEMENT         = "any_zone"
    BUCKET_NAME       = local.data_bucket_name
    CONCURRENCY_LIMIT = "1"
    MEMORY_SIZE       = "1769"
    EXPERIMENT_TAG    = var.experiment_tag
  })
}
