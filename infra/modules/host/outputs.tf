output "instance_ids" {
  description = "Ids of the hosts."
  value       = aws_instance.host[*].id
}

output "log_group_name" {
  description = "Name of the log group."
  value       = aws_cloudwatch_log_group.host.name
}
