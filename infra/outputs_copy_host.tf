# Outputs of the copy by hosts alone.

output "host_environment" {
  description = "The program's environment on a host, also for one that runs elsewhere."
  value       = local.is_copy_host ? local.host_environment : null
}

output "instance_ids" {
  description = "The hosts."
  value       = one(module.host[*].instance_ids)
}

output "instance_type" {
  description = "EC2 instance type of the hosts."
  value       = local.is_copy_host ? var.instance_type : null
}
