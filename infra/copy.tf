# The copy experiment: a function copies objects server-side from the data bucket to one of its own, which it may empty. Either
# one function lists the source (as published), or N share the slices of a manifest.

locals {
  is_copy  = var.experiment == "copy"
  any_copy = local.is_copy || local.is_copy_host

  copy_in_tmp = { mb = 0, what = "nothing" } # S3 copies: no byte passes through here

  # Keys in the source bucket begin with these.
  sources_prefix  = "source/"
  masters_prefix  = "masters/"
  manifest_prefix = "manifest/"

  # By their names, and not by their modules: what an experiment's function is made from waits for no bucket, or its code would
  # be read again, and wanted again, with every change of one.
  destination_bucket_name = local.is_copy_host ? local.bucket_name : local.copies_bucket_name
  destination_prefix      = local.is_copy_host ? local.copies_prefix : ""
  copies_bucket_name      = "${local.name}-copies-${local.account_id}-${var.region}"

  destination_arn = "arn:${local.partition}:s3:::${local.destination_bucket_name}"
  copies          = "${local.destination_arn}/${local.destination_prefix}*"

  # All below it is copied, so another number of objects has another one: what a cell with more of them left would be copied too.
  source_prefix = "${local.sources_prefix}${local.key_plan.objects}/"

  from_manifest = local.is_copy_host || (local.is_copy && var.from_manifest)

  first_hour = "${var.date_from}T00:00:00Z"
  last_day   = "${var.date_to}T00:00:00Z"

  # Whatever is deployed, the rule of object_count needs it.
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

  # The program's, in Lambda and on a host.
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

  # Masters and manifest, and what is listed where there is no manifest; of a host's one bucket also its copies.
  read_prefixes = concat(
    [local.masters_prefix, local.manifest_prefix], local.is_copy_host ? [] : [local.sources_prefix]
  )
  listed_prefixes = concat(local.read_prefixes, local.is_copy_host ? [local.copies_prefix] : [])

  # The function's, and a host's.
  copy_statements = concat([
    {
      Sid       = "ListTheSource" # a listing names one of the prefixes, or it is refused
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
      Sid      = "WriteTheCopies" # GetObject is what HeadObject asks for: a copy that is there already is looked at
      Effect   = "Allow"
      Action   = ["s3:PutObject", "s3:GetObject", "s3:DeleteObject"]
      Resource = local.copies
    },
    {
      Sid         = "DeleteNowhereElse" # nothing else allows it here; this outweighs what another bucket's policy may allow
      Effect      = "Deny"
      Action      = ["s3:DeleteObject", "s3:DeleteObjectVersion", "s3:DeleteBucket"]
      NotResource = local.copies
    },
    ], [for statement in [{
      Sid      = "ListTheCopies" # all of it is emptied
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
