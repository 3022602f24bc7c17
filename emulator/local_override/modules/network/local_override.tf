# What the embedded AWS takes and doesn't give back, so that every plan would want it again: an endpoint's policy, and a rule
# by prefix list.
resource "aws_vpc_endpoint" "s3" {
  policy = null
}

resource "aws_vpc_security_group_egress_rule" "to_s3" {
  count = 0
}

# Without an account id (../../local_override.tf) the provider takes every group for another account's.
resource "aws_vpc_security_group_egress_rule" "to_mount_targets" {
  referenced_security_group_id = "${aws_security_group.mount_targets.owner_id}/${aws_security_group.mount_targets.id}"
}

resource "aws_vpc_security_group_ingress_rule" "from_functions" {
  referenced_security_group_id = "${aws_security_group.functions.owner_id}/${aws_security_group.functions.id}"
}
