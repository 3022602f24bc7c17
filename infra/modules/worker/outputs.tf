output "function_name" {
  description = "Name of the function."
  value       = aws_lambda_function.worker.function_name
}

output "log_group_name" {
  description = "Name of the log group."
  value       = aws_cloudwatch_log_group.worker.name
}
