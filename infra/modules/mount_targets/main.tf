# Only functions inside the network reach a file system's mount targets.
resource "aws_security_group" "this" {
  #checkov:skip=CKV2_AWS_5:It is given to the mount targets, in another module.
  name        = "${var.name}-mount-targets"
  description = "Mount targets: from the functions only."
  vpc_id      = var.vpc_id
}

resource "aws_vpc_security_group_egress_rule" "to_mount_targets" {
  security_group_id            = var.inside_security_group.id
  description                  = "NFS to the mount targets."
  referenced_security_group_id = aws_security_group.this.id
  ip_protocol                  = "tcp"
  from_port                    = 2049
  to_port                      = 2049
}

resource "aws_vpc_security_group_ingress_rule" "from_inside" {
  security_group_id            = aws_security_group.this.id
  description                  = "NFS from the functions."
  referenced_security_group_id = var.inside_security_group.id
  ip_protocol                  = "tcp"
  from_port                    = 2049
  to_port                      = 2049
}
