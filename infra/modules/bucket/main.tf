# A data bucket. Its content can be made again from a size and a seed, so it isn't replicated and by default not versioned, and
# `destroy` removes it with all its objects.
resource "aws_s3_bucket" "data" {
  #checkov:skip=CKV_AWS_18:Written and billed for every measured request, so only where server_side_proof asks for them, and to CloudWatch Logs: modules/access_log.
  #checkov:skip=CKV2_AWS_62:Nothing waits for changes of the bucket.
  #checkov:skip=CKV_AWS_144:The content can be made again from a size and a seed.
  #checkov:skip=CKV_AWS_21:The content can be made again from a size and a seed, and versions would be billed.
  #checkov:skip=CKV_AWS_145:S3's own keys, unless a key of KMS is given: see the encryption below.
  bucket        = var.name
  force_destroy = true
}

resource "aws_s3_bucket_versioning" "data" {
  count = var.versioned ? 1 : 0

  bucket = aws_s3_bucket.data.bucket

  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_bucket_public_access_block" "data" {
  bucket = aws_s3_bucket.data.bucket

  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

# No ACLs: access is by policy alone.
resource "aws_s3_bucket_ownership_controls" "data" {
  bucket = aws_s3_bucket.data.bucket

  rule {
    object_ownership = "BucketOwnerEnforced"
  }
}

# By default S3's own keys: with KMS each of N concurrent requests, or with a bucket key a few, would call KMS, whose quota and
# latency would become part of the measurement.
resource "aws_s3_bucket_server_side_encryption_configuration" "data" {
  bucket = aws_s3_bucket.data.bucket

  rule {
    apply_server_side_encryption_by_default {
      sse_algorithm     = var.kms_key_arn == null ? "AES256" : "aws:kms"
      kms_master_key_id = var.kms_key_arn
    }

    bucket_key_enabled = var.kms_key_arn == null ? null : var.bucket_key

    # S3's default for new buckets since April 2026. Without it, providers before 6.40 remove it at every apply, and the next
    # plan finds it again (hashicorp/terraform-provider-aws#47320).
    blocked_encryption_types = ["SSE-C"]
  }
}

resource "aws_s3_bucket_policy" "tls_only" {
  bucket = aws_s3_bucket.data.bucket

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "TlsOnly"
      Effect    = "Deny"
      Principal = "*"
      Action    = "s3:*"
      Resource  = [local.arn, "${local.arn}/*"]
      Condition = local.without_tls
    }]
  })

  # S3 refuses simultaneous changes of a bucket's access settings.
  depends_on = [aws_s3_bucket_public_access_block.data, aws_s3_bucket_ownership_controls.data]
}

# An interrupted upload leaves parts, which are invisible and billed.
resource "aws_s3_bucket_lifecycle_configuration" "data" {
  bucket = aws_s3_bucket.data.bucket

  rule {
    id     = "abort-incomplete-uploads"
    status = "Enabled"

    filter {}

    abort_incomplete_multipart_upload {
      days_after_initiation = 1
    }
  }

  dynamic "rule" {
    for_each = var.expire_days[*]

    content {
      id     = "expire"
      status = "Enabled"

      filter {}

      expiration {
        days = rule.value
      }
    }
  }
}

locals {
  arn         = "arn:${var.partition}:s3:::${var.name}"
  without_tls = { Bool = { "aws:SecureTransport" = "false" } }
}
