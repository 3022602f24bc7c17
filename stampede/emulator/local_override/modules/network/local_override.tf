# What the embedded AWS takes and doesn't give back, so that every plan would want it again: an endpoint's policy, and a rule
# by prefix list.
resource "aws_vpc_endpoint" "s3" {
  policy = null
}

resource "aws_vpc_security_group_egress_rule" "to_s3" {
  count = 0
}

# A general bucket stands in for the directory bucket, and is reached as such.
resource "aws_vpc_endpoint" "s3express" {
  count = 0
}

resource "aws_vpc_security_group_egress_rule" "to_s3express" {
  count = 0
}
