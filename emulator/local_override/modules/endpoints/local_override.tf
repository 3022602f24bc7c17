# Without an account id (../../local_override.tf) the provider takes every group for another account's.
resource "aws_vpc_security_group_egress_rule" "to_endpoints" {
  referenced_security_group_id = "${aws_security_group.endpoints.owner_id}/${aws_security_group.endpoints.id}"
}

resource "aws_vpc_security_group_ingress_rule" "from_inside" {
  referenced_security_group_id = "${var.inside_security_group.owner_id}/${var.inside_security_group.id}"
}

# What the embedded AWS takes and doesn't give back, so that every plan would want it again.
resource "aws_vpc_endpoint" "service" {
  lifecycle {
    ignore_changes = [security_group_ids, private_dns_enabled]
  }
}
