# The download experiment: a queue floods N functions, and each of them downloads the same object.

locals {
  is_go = startswith(var.method, "go_")

  # Where each method puts the bytes when nothing is said: as in functions/download/methods.py.
  sink = coalesce(var.sink, endswith(var.method, "stream") ? "discard" : endswith(var.method, "ranges") ? "memory" : "tmp")

  # What a function needs besides the object, when it holds that in memory, in MB: the runtime and its own code.
  other_memory_mb = 128
}

module "bucket" {
  source = "./modules/bucket"

  name      = local.bucket_name
  partition = local.partition
}

module "queue" {
  source = "./modules/queue"

  name                 = local.name
  arn_prefix           = "arn:${local.partition}:sqs:${var.region}:${local.account_id}"
  visibility_timeout_s = local.visibility_timeout_s
  max_receive_count    = local.max_receive_count
}

module "worker" {
  source = "./modules/worker"

  name                 = local.name
  account_id           = local.account_id
  role_name            = local.role_name
  source_folders       = [for name in ["common", var.experiment] : "${path.root}/../functions/${name}"]
  program_file         = local.is_go ? "${path.root}/../functions/transfer/build/${var.architecture}/bootstrap" : null
  layer_folder         = var.method == "crt" ? "${path.root}/../functions/${var.experiment}/build/${var.architecture}" : null
  zip_file             = "${path.root}/.build/${local.is_go ? "transfer-${var.architecture}" : var.experiment}.zip"
  handler              = local.is_go ? "bootstrap" : "download.handler.handler"
  runtime              = local.is_go ? "provided.al2023" : "python3.12"
  architecture         = var.architecture
  memory_size_mb       = var.memory_size
  timeout_s            = var.timeout_s
  ephemeral_storage_mb = var.ephemeral_storage_mb
  reserved_concurrency = var.concurrency_value
  maximum_concurrency  = local.maximum_concurrency
  provisioned_pollers  = var.provisioned_pollers
  queue_arn            = module.queue.arn
  readable_object_arn  = "${module.bucket.arn}/${var.s3_file_name}"
  log_retention_days   = var.log_retention_days

  environment = {
    CONCURRENCY_LIMIT = tostring(var.concurrency_value)
    BUCKET_NAME       = module.bucket.name
    FILE_NAME         = var.s3_file_name
    EXPERIMENT_TAG    = var.experiment_tag
    MEMORY_SIZE       = tostring(var.memory_size)
    METHOD            = var.method
    SINK              = local.sink
    RANGE_PARALLEL    = tostring(var.range_parallel)
    RANGE_PART_MB     = tostring(var.range_part_mb)
  }
}
