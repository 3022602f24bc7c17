output "subnet_ids" {
  description = "Private subnets, known once S3 can be reached from them."
  value       = aws_subnet.private[*].id
  depends_on  = [aws_vpc_endpoint.s3, aws_route_table_association.private]
}

output "functions_security_group_id" {
  description = "Security group for functions, known once it lets them out."
  value       = aws_security_group.functions.id
  depends_on  = [aws_vpc_security_group_egress_rule.to_s3, aws_vpc_security_group_egress_rule.to_mount_targets]
}

output "mount_targets_security_group_id" {
  description = "Security group for mount targets, known once it lets functions in."
  value       = aws_security_group.mount_targets.id
  depends_on  = [aws_vpc_security_group_ingress_rule.from_functions]
}
