# What the storage class experiment alone has.

output "operation" {
  description = "What is measured."
  value       = local.is_express ? var.operation : null
}

output "placement" {
  description = "Where the function stands."
  value       = local.is_express ? var.placement : null
}

output "express_bucket_name" {
  description = "Directory bucket."
  value       = one(module.directory_bucket[*].name)
}

output "zone_id" {
  description = "Id of the directory bucket's zone."
  value       = local.is_express ? local.zone_id : null
}

output "athena_workgroup_name" {
  description = "Workgroup of the queries."
  value       = one(module.athena[*].workgroup_name)
}

output "athena_database_name" {
  description = "Database of the tables standard and express."
  value       = one(module.athena[*].database_name)
}

output "scan_limit_mb" {
  description = "Most that one query may read, in MiB."
  value       = local.is_express ? var.scan_limit_mb : null
}

output "query_limit_s" {
  description = "How long a query is waited for, in seconds."
  value       = local.is_express ? var.query_limit_s : null
}
