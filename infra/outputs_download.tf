# What the download experiment alone has.

output "object_key" {
  description = "Key of the object that the functions download."
  value       = var.s3_file_name
}

output "method" {
  description = "How the function downloads."
  value       = var.method
}

output "sink" {
  description = "Where the bytes go."
  value       = local.sink
}

output "range_parallel" {
  description = "Connections at once of the methods with ranges."
  value       = var.range_parallel
}

output "range_part_mb" {
  description = "Size of a range, in MiB."
  value       = var.range_part_mb
}

output "object_size_mb" {
  description = "Size of the object that /tmp or memory was checked against, in MiB."
  value       = var.object_size_mb
}

output "ephemeral_storage_mb" {
  description = "Size of /tmp, in MB."
  value       = var.ephemeral_storage_mb
}
