# Without an account id (../../local_override.tf) the provider takes every group for another account's.
resource "aws_vpc_security_group_egress_rule" "to_mount_targets" {
  referenced_security_group_id = "${aws_security_group.this.owner_id}/${aws_security_group.this.id}"
}

resource "aws_vpc_security_group_ingress_rule" "from_inside" {
  referenced_security_group_id = "${var.inside_security_group.owner_id}/${var.inside_security_group.id}"
}
