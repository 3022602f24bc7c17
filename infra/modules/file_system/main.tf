# An EFS file system that only permitted roles can use, over TLS and through one access point.
resource "aws_efs_file_system" "this" {
  #checkov:skip=CKV_AWS_184:AWS's own key and not one of ours, as with S3: what is measured is the service as one gets it.
  creation_token  = var.name
  encrypted       = true
  throughput_mode = var.throughput_mode

  tags = { Name = var.name }
}

# A policy replaces EFS's default, which allows everything without IAM to anybody who reaches a mount target. This policy allows
# nothing by itself: roles need their own permissions, and TLS, as in Lambda's mounts (EFS guide, "Using IAM to control access to
# file systems").
resource "aws_efs_file_system_policy" "tls_only" {
  file_system_id = aws_efs_file_system.this.id

  policy = jsonencode({
    Version = "2012-10-17"
    Id      = "tls-only" # or EFS adds one, which the next plan would remove
    Statement = [{
      Sid       = "TlsOnly"
      Effect    = "Deny"
      Principal = { AWS = "*" }
      Action    = "*"
      Resource  = aws_efs_file_system.this.arn
      Condition = { Bool = { "aws:SecureTransport" = "false" } }
    }]
  })
}

# Its clients are this user, in this folder.
resource "aws_efs_access_point" "data" {
  file_system_id = aws_efs_file_system.this.id

  posix_user {
    uid = 1000
    gid = 1000
  }

  root_directory {
    path = "/data"

    creation_info {
      owner_uid   = 1000
      owner_gid   = 1000
      permissions = "0750"
    }
  }

  tags = { Name = var.name }
}

resource "aws_efs_mount_target" "zone" {
  count = length(var.subnet_ids)

  file_system_id  = aws_efs_file_system.this.id
  subnet_id       = var.subnet_ids[count.index]
  security_groups = [var.security_group_id]
}
