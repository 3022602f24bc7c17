output "vpc_id" {
  description = "The network."
  value       = aws_vpc.this.id
}

output "subnet_ids" {
  description = "The first subnet_count private subnets, known once S3 can be reached from them."
  value       = [for zone in slice(local.zones, 0, var.subnet_count) : aws_subnet.private[zone].id]
  depends_on  = [aws_vpc_endpoint.s3, aws_vpc_endpoint.s3express, aws_route_table_association.private]
}

output "subnet_id_in_zone" {
  description = "The private subnet of each zone by the zone's name, known once S3 can be reached from it."
  value       = { for zone, subnet in aws_subnet.private : zone => subnet.id }
  depends_on  = [aws_vpc_endpoint.s3, aws_vpc_endpoint.s3express, aws_route_table_association.private]
}

output "inside_security_group" {
  description = "Security group of what works inside: its id, and the account that it belongs to."
  value       = { id = aws_security_group.inside.id, owner_id = aws_security_group.inside.owner_id }
  depends_on  = [aws_vpc_security_group_egress_rule.to_s3, aws_vpc_security_group_egress_rule.to_s3express]
}
