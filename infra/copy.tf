# The copy experiment: functions copy objects server-side from the data bucket to a second one, which they may empty. Either one
# function lists the source (as published), or N share the slices of a manifest.

locals {
  is_copy  = var.experiment == "copy"
  any_copy = local.is_copy || local.is_copy_host

  copy_in_tmp = { mb = 0, what = "nothing" } # S3 copies: no byte passes through the function

  # Keys in the source bucket begin with these.
  sources_prefix  = "source/"
  masters_prefix  = "masters/"
  manifest_prefix = "manifest/"

  # By names and not from modules: a function that waits for a bucket would be read and updated again with every change of the
  # bucket.
  destination_bucket_name = local.is_copy_host ? local.bucket_name : local.copies_bucket_name
  destination_prefix      = local.is_copy_host ? local.copies_prefix : ""
  copies_bucket_name      = "${local.name}-copies-${local.account_id}-${var.region}"

  destination_arn = "arn:${local.partition}:s3:::${local.destination_bucket_name}"
  copies          = "${local.destination_arn}/${local.destination_prefix}*"

  # Everything with the prefix is copied, so each number of objects has its own: objects of a larger cell would be copied, too.
  source_prefix = "${local.sources_prefix}${local.key_plan.objects}/"

  from_manifest = local.is_copy_host || (local.is_copy && var.from_manifest)

  first_hour = "${var.date_from}T00:00:00Z"
  last_day   = "${var.date_to}T00:00:00Z"

  # The rule of object_count needs it with every experiment.
  copy_defaults = local.all_defaults[local.is_copy_host ? "copy_host" : "copy"]

  key_plan = {
    objects            = coalesce(var.object_count, local.copy_defaults.object_count)
    object_bytes       = coalesce(var.object_bytes, local.copy_defaults.object_bytes)
    date_from          = var.date_from
    date_to            = var.date_to
    objects_per_folder = var.objects_per_folder
    key_order          = var.key_order
    masters            = var.masters
    slice_rows         = coalesce(var.slice_rows, local.copy_defaults.slice_rows)
    seed               = var.data_seed
  }

  # The program's variables, in Lambda and on a host.
  copy_environment = {
    EXPERIMENT              = var.experiment
    SOURCE_PREFIX           = local.source_prefix
    DESTINATION_BUCKET_NAME = local.destination_bucket_name
    DESTINATION_PREFIX      = local.destination_prefix
    OBJECT_COUNT            = tostring(local.key_plan.objects)
    KEY_ORDER               = local.from_manifest ? var.key_order : "none"
  }

  copy_program_file = "${path.root}/../functions/transfer/build/${local.architecture}/bootstrap"

  copy = {
    description  = "Copies objects from bucket to bucket, one record a message."
    program_file = local.copy_program_file
    zip_name     = "transfer-${local.architecture}"
    handler      = "bootstrap"
    runtime      = "provided.al2023"
    environment  = local.copy_environment
    statements   = local.copy_statements
  }

  # Masters and manifest, or the objects to list without a manifest; in a host's one bucket also the copies.
  read_prefixes = concat(
    [local.masters_prefix, local.manifest_prefix], local.is_copy_host ? [] : [local.sources_prefix]
  )
  listed_prefixes = concat(local.read_prefixes, local.is_copy_host ? [local.copies_prefix] : [])

  # Permissions of the function and of a host.
  copy_statements = concat([
    {
      Sid       = "ListTheSource" # only with one of the prefixes
      Effect    = "Allow"
      Action    = "s3:ListBucket"
      Resource  = local.data_bucket_arn
      Condition = { StringLike = { "s3:prefix" = [for prefix in local.listed_prefixes : "${prefix}*"] } }
    },
    {
      Sid      = "ReadTheSource"
      Effect   = "Allow"
      Action   = "s3:GetObject"
      Resource = [for prefix in local.read_prefixes : "${local.data_bucket_arn}/${prefix}*"]
    },
    {
      Sid      = "WriteTheCopies" # GetObject allows HeadObject, which checks existing copies
      Effect   = "Allow"
      Action   = ["s3:PutObject", "s3:GetObject", "s3:DeleteObject"]
      Resource = local.copies
    },
    {
      Sid         = "DeleteNowhereElse" # nothing here allows it; this overrides policies of other buckets
      Effect      = "Deny"
      Action      = ["s3:DeleteObject", "s3:DeleteObjectVersion", "s3:DeleteBucket"]
      NotResource = local.copies
    },
    ], [for statement in [{
      Sid      = "ListTheCopies" # to empty all of it
      Effect   = "Allow"
      Action   = "s3:ListBucket"
      Resource = local.destination_arn
  }] : statement if local.is_copy])
}

module "copies" {
  source = "./modules/bucket"
  count  = local.is_copy ? 1 : 0

  name      = local.copies_bucket_name
  partition = local.partition
}
