# The embedded AWS accepts but doesn't return these, so every plan would set them again.
resource "aws_vpc_endpoint" "service" {
  lifecycle {
    ignore_changes = [security_group_ids, private_dns_enabled]
  }
}
