output "name" {
  description = "Name of the bucket, known once its access settings and its encryption are in place."
  value       = aws_s3_bucket.data.bucket
  depends_on  = [aws_s3_bucket_policy.tls_only, aws_s3_bucket_server_side_encryption_configuration.data]
}

output "arn" {
  description = "ARN of the bucket."
  value       = local.arn
}
