# The embedded AWS accepts but doesn't return an endpoint's policy and a rule with a prefix list, so every plan would set them
# again.
resource "aws_vpc_endpoint" "s3" {
  policy = null
}

resource "aws_vpc_security_group_egress_rule" "to_s3" {
  count = 0
}

# A general purpose bucket stands in for the directory bucket.
resource "aws_vpc_endpoint" "s3express" {
  count = 0
}

resource "aws_vpc_security_group_egress_rule" "to_s3express" {
  count = 0
}
