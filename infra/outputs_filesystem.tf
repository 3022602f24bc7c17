# Outputs of the file system experiment alone.

output "storage" {
  description = "What the function copies from."
  value       = local.is_filesystem ? var.storage : null
}

output "read_method" {
  description = "How the function reads."
  value       = local.is_filesystem ? local.read_method : null
}

output "cache" {
  description = "What happens to the page cache before the timed part."
  value       = local.is_filesystem ? var.cache : null
}

output "large_file_mb" {
  description = "Size of the large file, in MiB."
  value       = local.is_filesystem ? var.large_file_mb : null
}

output "small_files" {
  description = "Number of small files."
  value       = local.is_filesystem ? var.small_files : null
}

output "subnet_count" {
  description = "Private subnets that functions and mount targets are in."
  value       = local.is_filesystem ? var.subnet_count : null
}

output "throughput_mode" {
  description = "Throughput mode of EFS."
  value       = local.is_filesystem ? var.throughput_mode : null
}
