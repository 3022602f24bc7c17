output "function_name" {
  description = "Name of the function."
  value       = aws_lambda_function.worker.function_name
}

output "log_group_name" {
  description = "Name of the log group."
  value       = aws_cloudwatch_log_group.worker.name
}

output "event_source_mapping_uuid" {
  description = "Id of the trigger; null without one."
  value       = one(aws_lambda_event_source_mapping.queue[*].uuid)
}
