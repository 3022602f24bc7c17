# Made from names and not from the bucket, so that their users don't wait for it.

output "name" {
  description = "Name of the bucket."
  value       = var.name
}

output "arn" {
  description = "ARN of the bucket."
  value       = local.arn
}

output "statements" {
  description = "What a role needs to read the bucket, and what to write it: an IAM policy statement each."
  value       = { read = local.sessions["ReadOnly"], write = local.sessions["ReadWrite"] }
}
