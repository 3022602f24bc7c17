# What the embedded AWS takes and doesn't give back, so that every plan would want it again.
resource "aws_vpc_endpoint" "service" {
  lifecycle {
    ignore_changes = [security_group_ids, private_dns_enabled]
  }
}
