# All that programs know of the infrastructure, from `terraform output -json`. Outputs of every experiment are here. Those of one
# experiment are in outputs_<experiment>.tf, and null with another experiment: `terraform output -json` omits them.

output "experiment" {
  description = "The deployed experiment."
  value       = var.experiment
}

output "region" {
  description = "AWS region of all resources."
  value       = var.region
}

output "account_id" {
  description = "AWS account of all resources."
  value       = local.account_id
}

output "prefix" {
  description = "First part of every name."
  value       = var.prefix
}

output "bucket_name" {
  description = "Data bucket."
  value       = local.data_bucket_name
}

output "queue_name" {
  description = "Queue that triggers the function, or that the hosts poll."
  value       = module.queue.name
}

output "queue_url" {
  description = "URL of that queue."
  value       = module.queue.url
}

output "dead_letter_queue_url" {
  description = "URL of the dead-letter queue."
  value       = module.queue.dead_letter_url
}

output "function_name" {
  description = "The function; null where hosts work."
  value       = one(module.worker[*].function_name)
}

output "log_group_name" {
  description = "Log group with the records."
  value       = local.log_group_name
}

output "access_log_group_name" {
  description = "Log group with S3's server access logs; null without server_side_proof."
  value       = one(module.access_log[*].log_group_name)
}

output "worker_role_name" {
  description = "Role of the function, or of the hosts, by which S3's access logs identify their requests."
  value       = local.role_name
}

output "memory_size" {
  description = "Memory of the function, in MB."
  value       = local.memory_size
}

output "concurrency_value" {
  description = "N, the function's reserved concurrency, or the number of hosts."
  value       = var.concurrency_value
}

output "experiment_tag" {
  description = "Label in every record."
  value       = var.experiment_tag
}

output "timeout_s" {
  description = "Longest duration of one invocation, in seconds."
  value       = local.timeout_s
}

output "visibility_timeout_s" {
  description = "How long a received message stays hidden, in seconds."
  value       = local.visibility_timeout_s
}

output "max_receive_count" {
  description = "Deliveries of a message before it becomes a dead letter."
  value       = local.max_receive_count
}

output "maximum_concurrency" {
  description = "The trigger's own cap; null with provisioned pollers, and where hosts work."
  value       = local.maximum_concurrency
}

output "provisioned_pollers" {
  description = "Event pollers kept ready; null in standard mode."
  value       = var.provisioned_pollers
}

output "architecture" {
  description = "Processor of the function, or of the hosts."
  value       = local.architecture
}

output "ephemeral_storage_mb" {
  description = "Size of /tmp, in MB."
  value       = local.ephemeral_storage_mb
}

output "placing_function_name" {
  description = "The function that seeds the data: filesystem's copies it to the file system, express's to both buckets."
  value = one(concat(
    [for name, placing in module.placing : placing.function_name if name == (var.storage == "s3files" ? "s3files" : "efs")],
    module.placing_objects[*].function_name,
  ))
}
