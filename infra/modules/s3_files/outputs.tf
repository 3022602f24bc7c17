output "arn" {
  description = "ARN of the file system."
  value       = aws_cloudformation_stack.file_system.outputs["FileSystemArn"]
}

output "access_point_arn" {
  description = "ARN of the access point, known once it can be mounted from every subnet."
  value       = aws_cloudformation_stack.file_system.outputs["AccessPointArn"]
  depends_on  = [aws_cloudformation_stack.mount_target]
}
