output "name" {
  description = "Name of the queue."
  value       = aws_sqs_queue.work.name
}

output "url" {
  description = "URL of the queue."
  value       = aws_sqs_queue.work.url
}

output "arn" {
  description = "ARN of the queue, known once failing messages have a place to go."
  value       = aws_sqs_queue.work.arn
  depends_on  = [aws_sqs_queue_redrive_policy.work]
}

output "dead_letter_name" {
  description = "Name of the dead-letter queue."
  value       = aws_sqs_queue.dead_letters.name
}

output "dead_letter_url" {
  description = "URL of the dead-letter queue."
  value       = aws_sqs_queue.dead_letters.url
}
