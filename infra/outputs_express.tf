# Outputs of the storage class experiment alone.

output "operation" {
  description = "What is measured."
  value       = local.is_express ? var.operation : null
}

output "placement" {
  description = "Where the function runs."
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
  description = "The most that one query may scan, in MiB."
  value       = local.is_express ? var.scan_limit_mb : null
}

output "query_limit_s" {
  description = "How long stampede waits for a query, in seconds."
  value       = local.is_express ? var.query_limit_s : null
}
