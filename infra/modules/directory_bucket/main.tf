# A bucket of S3 Express One Zone: in one zone, and reached by sessions, which IAM allows for the whole bucket and not for a key.
# It is private, without ACLs and encrypted by S3's own keys from the start, and none of that can be taken away (S3 User Guide,
# "Security best practices for directory buckets" and "Data protection and encryption").
resource "aws_s3_directory_bucket" "data" {
  bucket          = var.name
  data_redundancy = "SingleAvailabilityZone"

  # Reported broken (hashicorp/terraform-provider-aws#34643): `stampede` empties the bucket before `destroy`.
  force_destroy = true

  location {
    name = var.zone_id
    type = "AvailabilityZone"
  }
}

resource "aws_s3_bucket_policy" "tls_only" {
  bucket = aws_s3_directory_bucket.data.bucket

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "TlsOnly"
      Effect    = "Deny"
      Principal = "*"
      Action    = "s3express:*"
      Resource  = local.arn
      Condition = { Bool = { "aws:SecureTransport" = "false" } }
    }]
  })
}

# An upload in parts that was cut off, by whatever tool, would be billed and keep the bucket from being deleted.
resource "aws_s3_bucket_lifecycle_configuration" "data" {
  bucket = aws_s3_directory_bucket.data.bucket

  rule {
    id     = "abort-incomplete-uploads"
    status = "Enabled"

    filter {}

    abort_incomplete_multipart_upload {
      days_after_initiation = 1
    }
  }
}

locals {
  arn = "arn:${var.partition}:s3express:${var.region}:${var.account_id}:bucket/${var.name}"

  # A program has to name its session's mode: asked for none, S3 gives the most that is allowed, and there is no key to hold
  # against this condition (S3 User Guide, "Example bucket policies for directory buckets").
  sessions = {
    for mode in ["ReadOnly", "ReadWrite"] : mode => {
      Sid       = "${mode}Sessions"
      Effect    = "Allow"
      Action    = "s3express:CreateSession"
      Resource  = local.arn
      Condition = { StringEquals = { "s3express:SessionMode" = mode } }
    }
  }
}
