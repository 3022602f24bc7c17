# A closed network: a private subnet in every zone, with a gateway endpoint to S3. Other modules may add mount targets of a file
# system (../mount_targets) and other services (../endpoints). It has no NAT and no internet gateway, which would be billed and
# measured.
#
# Every zone has a subnet, used or not: Terraform would destroy an unneeded subnet before it updates its users, and EC2 doesn't
# delete a subnet with a function or an endpoint (terraform-provider-aws#13661). An unused subnet is free.
#
# Lambda's own calls, for messages and logs, don't use this network. Only the function's call that brings a failed message back
# after seconds (functions/common/redelivery.py) needs SQS here.

# Lambda and EFS don't support use1-az3; Local Zones have another type.
data "aws_availability_zones" "usable" {
  #checkov:skip=CKV_AWS_394:A stack lives for hours.
  state            = "available"
  exclude_zone_ids = ["use1-az3"]

  filter {
    name   = "zone-type"
    values = ["availability-zone"]
  }

  lifecycle {
    postcondition {
      condition     = length(self.names) >= var.subnet_count
      error_message = "subnet_count = ${var.subnet_count}: must be at most ${length(self.names)}, the zones of ${var.region} that can be used; there is one subnet a zone."
    }
  }
}

locals {
  zones = sort(data.aws_availability_zones.usable.names)
}

resource "aws_vpc" "this" {
  #checkov:skip=CKV2_AWS_12:Nothing is in the default group, and it comes without tags: who may close it may open every group of the account that has none.
  #checkov:skip=CKV2_AWS_11:Flow logs would be billed for every measured byte, and there is one way in and none out.
  cidr_block           = "10.0.0.0/16"
  enable_dns_hostnames = true # a service's own name resolves to its interface endpoint

  tags = { Name = var.name }
}

resource "aws_subnet" "private" {
  for_each = toset(local.zones)

  vpc_id            = aws_vpc.this.id
  availability_zone = each.key
  cidr_block        = cidrsubnet(aws_vpc.this.cidr_block, 4, index(local.zones, each.key)) # 4,091 addresses each

  tags = { Name = "${var.name}-${each.key}" }
}

resource "aws_route_table" "private" {
  vpc_id = aws_vpc.this.id

  tags = { Name = var.name }
}

resource "aws_route_table_association" "private" {
  for_each = aws_subnet.private

  subnet_id      = each.value.id
  route_table_id = aws_route_table.private.id
}

# Free of charge, and without a documented bandwidth limit.
resource "aws_vpc_endpoint" "s3" {
  vpc_id            = aws_vpc.this.id
  vpc_endpoint_type = "Gateway"
  service_name      = "com.amazonaws.${var.region}.s3"
  route_table_ids   = [aws_route_table.private.id]

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "TheData"
      Effect    = "Allow"
      Principal = "*"
      Action    = var.s3_actions
      Resource  = flatten([for arn in var.bucket_arns : [arn, "${arn}/*"]])
    }]
  })

  tags = { Name = var.name }
}

# Directory buckets have their own endpoint service, also free of charge.
resource "aws_vpc_endpoint" "s3express" {
  count = length(var.directory_bucket_arns) == 0 ? 0 : 1

  vpc_id            = aws_vpc.this.id
  vpc_endpoint_type = "Gateway"
  service_name      = "com.amazonaws.${var.region}.s3express"
  route_table_ids   = [aws_route_table.private.id]

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "TheData"
      Effect    = "Allow"
      Principal = "*"
      Action    = "s3express:CreateSession"
      Resource  = var.directory_bucket_arns
    }]
  })

  tags = { Name = "${var.name}-s3express" }
}

# For the functions or hosts inside.
resource "aws_security_group" "inside" {
  #checkov:skip=CKV2_AWS_5:It is given to functions or hosts, in another module.
  name        = "${var.name}-${var.inside.name}"
  description = var.inside.description
  vpc_id      = aws_vpc.this.id
}

resource "aws_vpc_security_group_egress_rule" "to_s3" {
  security_group_id = aws_security_group.inside.id
  description       = "HTTPS to S3, through the gateway endpoint."
  prefix_list_id    = aws_vpc_endpoint.s3.prefix_list_id
  ip_protocol       = "tcp"
  from_port         = 443
  to_port           = 443
}

resource "aws_vpc_security_group_egress_rule" "to_s3express" {
  count = length(var.directory_bucket_arns) == 0 ? 0 : 1

  security_group_id = aws_security_group.inside.id
  description       = "HTTPS to directory buckets, through their gateway endpoint."
  prefix_list_id    = aws_vpc_endpoint.s3express[0].prefix_list_id
  ip_protocol       = "tcp"
  from_port         = 443
  to_port           = 443
}
