# Interface endpoints from the closed network to single AWS services, only for functions or hosts inside. Billed by hour, zone and
# byte.
resource "aws_security_group" "endpoints" {
  #checkov:skip=CKV2_AWS_5:It is given to the endpoints below.
  name        = "${var.name}-endpoints"
  description = "Interface endpoints: from what works inside only."
  vpc_id      = var.vpc_id
}

resource "aws_vpc_security_group_ingress_rule" "from_inside" {
  security_group_id            = aws_security_group.endpoints.id
  description                  = "HTTPS from what works inside."
  referenced_security_group_id = var.inside_security_group.id
  ip_protocol                  = "tcp"
  from_port                    = 443
  to_port                      = 443
}

resource "aws_vpc_security_group_egress_rule" "to_endpoints" {
  security_group_id            = var.inside_security_group.id
  description                  = "HTTPS to the interface endpoints."
  referenced_security_group_id = aws_security_group.endpoints.id
  ip_protocol                  = "tcp"
  from_port                    = 443
  to_port                      = 443
}

resource "aws_vpc_endpoint" "service" {
  for_each = var.services

  vpc_id              = var.vpc_id
  vpc_endpoint_type   = "Interface"
  service_name        = "com.amazonaws.${var.region}.${each.key}"
  subnet_ids          = var.subnet_ids
  security_group_ids  = [aws_security_group.endpoints.id]
  private_dns_enabled = true # so that programs can use the service's own name

  tags = { Name = "${var.name}-${each.key}" }
}
