# Amazon Linux 2023, which has the AWS CLI, SSM agent and systemd that a host needs.
data "aws_ami" "linux" {
  owners      = ["amazon"]
  most_recent = true

  filter {
    name   = "name"
    values = ["al2023-ami-2023.*-${var.architecture}"] # no minimal images, and none for containers
  }

  filter {
    name   = "architecture"
    values = [var.architecture]
  }
}

# The key changes with the program, so that hosts with another program are replaced.
resource "aws_s3_object" "program" {
  #checkov:skip=CKV_AWS_186:The bucket encrypts it, with its own key.
  bucket      = var.bucket.name
  key         = "program/${local.program_sha256}/transfer"
  source      = var.program_file
  source_hash = local.program_sha256

  lifecycle {
    precondition {
      condition     = fileexists(var.program_file)
      error_message = "program_file = ${var.program_file}: must be built before; run `make functions`."
    }
  }
}

locals {
  program_sha256 = fileexists(var.program_file) ? filesha256(var.program_file) : "missing"

  user_data = templatefile("${path.module}/start.sh.tftpl", {
    region      = var.region
    program_url = "s3://${aws_s3_object.program.bucket}/${aws_s3_object.program.key}"
    sha256      = local.program_sha256
    environment = var.environment
  })
}

resource "aws_instance" "host" {
  #checkov:skip=CKV_AWS_126:The records say more than a sample a minute, which would be billed.
  #checkov:skip=CKV_AWS_135:Every type since 2017 is EBS optimised by itself, and older ones refuse the wish.
  count = var.host_count

  ami                    = data.aws_ami.linux.id
  instance_type          = var.instance_type
  iam_instance_profile   = aws_iam_instance_profile.host.name
  subnet_id              = var.subnet_id
  vpc_security_group_ids = [var.security_group_id]

  associate_public_ip_address = false

  # A host gets everything at its start, so changes need a new host.
  user_data                   = local.user_data
  user_data_replace_on_change = true

  # Only version 2 of the metadata service, out of reach of containers and proxies.
  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }

  root_block_device {
    encrypted   = true
    volume_type = "gp3"
    volume_size = 8
  }

  tags = { Name = "${var.name}-${count.index}" }

  # The host fetches its program and logs from its first second.
  depends_on = [aws_iam_role_policy.host, aws_cloudwatch_log_group.host]
}
