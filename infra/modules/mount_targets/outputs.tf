output "security_group_id" {
  description = "Security group for mount targets, known once it lets in what works inside."
  value       = aws_security_group.this.id
  depends_on  = [aws_vpc_security_group_ingress_rule.from_inside]
}

output "inside_security_group_id" {
  description = "Security group of what works inside, known once it is let out to mount targets."
  value       = var.inside_security_group.id
  depends_on  = [aws_vpc_security_group_egress_rule.to_mount_targets]
}
