# A network without a way out: private subnets, one a zone, from which functions reach S3 by a gateway endpoint and the mount
# targets of a file system, and nothing else. No NAT, no internet gateway: both would be billed and measured.
#
# A message that failed in here comes back after the queue's visibility timeout and not after seconds: the function asks
# SQS for that (functions/common/redelivery.py) and doesn't reach it. What Lambda does itself, taking messages and writing
# logs, doesn't go through this network.

# Lambda and EFS don't take use1-az3; Local Zones aren't zones of that type.
data "aws_availability_zones" "usable" {
  #checkov:skip=CKV_AWS_394:The first subnet_count are taken, and a stack lives for hours.
  state            = "available"
  exclude_zone_ids = ["use1-az3"]

  filter {
    name   = "zone-type"
    values = ["availability-zone"]
  }

  lifecycle {
    postcondition {
      condition     = length(self.names) >= var.subnet_count
      error_message = "subnet_count = ${var.subnet_count}: must be at most ${length(self.names)}, the zones of ${var.region} that Lambda can use; there is one subnet a zone."
    }
  }
}

resource "aws_vpc" "this" {
  #checkov:skip=CKV2_AWS_11:Flow logs would be billed for every measured byte, and there is one way in and none out.
  cidr_block = "10.0.0.0/16"

  tags = { Name = var.name }
}

# The group that whatever names no group gets: it lets nothing in or out.
resource "aws_default_security_group" "closed" {
  vpc_id = aws_vpc.this.id
}

resource "aws_subnet" "private" {
  count = var.subnet_count

  vpc_id            = aws_vpc.this.id
  availability_zone = data.aws_availability_zones.usable.names[count.index]
  cidr_block        = cidrsubnet(aws_vpc.this.cidr_block, 4, count.index) # 4,091 addresses each

  tags = { Name = "${var.name}-${data.aws_availability_zones.usable.names[count.index]}" }
}

resource "aws_route_table" "private" {
  vpc_id = aws_vpc.this.id

  tags = { Name = var.name }
}

resource "aws_route_table_association" "private" {
  count = var.subnet_count

  subnet_id      = aws_subnet.private[count.index].id
  route_table_id = aws_route_table.private.id
}

# Free of charge, and no bandwidth limit of its own is documented.
resource "aws_vpc_endpoint" "s3" {
  vpc_id            = aws_vpc.this.id
  vpc_endpoint_type = "Gateway"
  service_name      = "com.amazonaws.${var.region}.s3"
  route_table_ids   = [aws_route_table.private.id]

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "ReadTheData"
      Effect    = "Allow"
      Principal = "*"
      Action    = ["s3:GetObject", "s3:GetObjectVersion", "s3:ListBucket"]
      Resource  = flatten([for arn in var.bucket_arns : [arn, "${arn}/*"]])
    }]
  })

  tags = { Name = var.name }
}

resource "aws_security_group" "functions" {
  #checkov:skip=CKV2_AWS_5:It is given to the functions, in another module.
  name        = "${var.name}-functions"
  description = "Functions: to S3 and to mount targets."
  vpc_id      = aws_vpc.this.id
}

resource "aws_vpc_security_group_egress_rule" "to_s3" {
  security_group_id = aws_security_group.functions.id
  description       = "HTTPS to S3, through the gateway endpoint."
  prefix_list_id    = aws_vpc_endpoint.s3.prefix_list_id
  ip_protocol       = "tcp"
  from_port         = 443
  to_port           = 443
}

resource "aws_vpc_security_group_egress_rule" "to_mount_targets" {
  security_group_id            = aws_security_group.functions.id
  description                  = "NFS to the mount targets."
  referenced_security_group_id = aws_security_group.mount_targets.id
  ip_protocol                  = "tcp"
  from_port                    = 2049
  to_port                      = 2049
}

resource "aws_security_group" "mount_targets" {
  #checkov:skip=CKV2_AWS_5:It is given to the mount targets, in another module.
  name        = "${var.name}-mount-targets"
  description = "Mount targets: from the functions only."
  vpc_id      = aws_vpc.this.id
}

resource "aws_vpc_security_group_ingress_rule" "from_functions" {
  security_group_id            = aws_security_group.mount_targets.id
  description                  = "NFS from the functions."
  referenced_security_group_id = aws_security_group.functions.id
  ip_protocol                  = "tcp"
  from_port                    = 2049
  to_port                      = 2049
}
