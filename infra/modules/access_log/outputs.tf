output "log_group_name" {
  description = "Log group with the lines, known once they are on their way."
  value       = aws_cloudwatch_log_group.access.name
  depends_on  = [aws_cloudwatch_log_delivery.data, aws_cloudwatch_log_delivery.copies]
}
