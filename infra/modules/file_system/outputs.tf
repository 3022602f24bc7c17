output "arn" {
  description = "ARN of the file system."
  value       = aws_efs_file_system.this.arn
}

output "access_point_arn" {
  description = "ARN of the access point, known once it can be mounted from every subnet, under the policy."
  value       = aws_efs_access_point.data.arn
  depends_on  = [aws_efs_mount_target.zone, aws_efs_file_system_policy.tls_only]
}
