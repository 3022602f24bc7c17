# Every experiment has a bucket with its data, a queue, and the function that the queue floods. Only copy_host has hosts in place
# of the function.

module "bucket" {
  source = "./modules/bucket"
  count  = var.existing_bucket ? 0 : 1

  name        = local.bucket_name
  partition   = local.partition
  kms_key_arn = one(module.key[*].arn)
  bucket_key  = var.bucket_key
}

# S3's own view of the run. The buckets' names come from outputs, so that the delivery waits for their settings.
module "access_log" {
  source = "./modules/access_log"
  count  = local.with_access_log ? 1 : 0

  name               = local.name
  data_bucket_arn    = "arn:${local.partition}:s3:::${local.data_bucket_name}"
  copies_bucket_arns = [for bucket in module.copies : "arn:${local.partition}:s3:::${bucket.name}"]
  log_retention_days = var.log_retention_days
  account_id         = local.account_id
  region             = var.region
  partition          = local.partition
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
  count  = local.is_copy_host ? 0 : 1

  name                 = local.name
  description          = local.function.description
  account_id           = local.account_id
  role_name            = local.role_name
  source_folders       = local.source_folders
  program_file         = local.function.program_file
  layer_folder         = local.function.layer_folder
  package              = local.is_function ? local.user_package : null
  layers               = local.is_function ? var.layers : []
  zip_file             = "${path.root}/.build/${local.function.zip_name}.zip"
  handler              = local.function.handler
  runtime              = local.function.runtime
  architecture         = local.architecture
  memory_size_mb       = local.memory_size
  timeout_s            = local.timeout_s
  ephemeral_storage_mb = local.ephemeral_storage_mb
  reserved_concurrency = var.concurrency_value
  statements           = local.function.statements
  network              = local.function.network
  in_network           = local.function.in_network
  file_system          = local.function.file_system
  log_retention_days   = var.log_retention_days

  trigger = {
    queue_arn           = module.queue.arn
    maximum_concurrency = local.maximum_concurrency
    provisioned_pollers = var.provisioned_pollers
    batch_size          = var.batch_size
    batching_window_s   = var.batching_window_s
  }

  environment = merge(local.function.environment, {
    CONCURRENCY_LIMIT = tostring(var.concurrency_value)
    BUCKET_NAME       = local.data_bucket_name
    EXPERIMENT_TAG    = var.experiment_tag
    MEMORY_SIZE       = tostring(local.memory_size)
  })
}
