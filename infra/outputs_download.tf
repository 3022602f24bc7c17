# Outputs of the download experiment alone.

output "object_key" {
  description = "Key of the object that the functions download."
  value       = local.is_download ? var.s3_file_name : null
}

output "method" {
  description = "How the function downloads."
  value       = local.is_download ? var.method : null
}

output "sink" {
  description = "Where the bytes go."
  value       = local.is_download ? local.sink : null
}

output "range_parallel" {
  description = "Connections at once of the methods with ranges."
  value       = local.is_download ? var.range_parallel : null
}

output "range_part_mb" {
  description = "Size of a range, in MiB."
  value       = local.is_download ? var.range_part_mb : null
}

output "object_size_mb" {
  description = "Size of the object that /tmp or memory was checked against, in MiB."
  value       = local.is_download ? var.object_size_mb : null
}

output "existing_bucket" {
  description = "Whether the bucket is the user's own."
  value       = local.is_download ? var.existing_bucket : null
}

output "requester_pays" {
  description = "Whether the requests say who pays for them."
  value       = local.is_download ? var.requester_pays : null
}
