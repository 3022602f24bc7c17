output "inside_security_group_id" {
  description = "Security group of what works inside, known once it reaches every service."
  value       = var.inside_security_group.id
  depends_on = [
    aws_vpc_endpoint.service,
    aws_vpc_security_group_egress_rule.to_endpoints,
    aws_vpc_security_group_ingress_rule.from_inside,
  ]
}
