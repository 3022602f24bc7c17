# A bucket of S3 Express One Zone: in one zone, and reached through sessions, which IAM allows for the whole bucket and not for a
# key. It needs no policy: it is always private, without ACLs, encrypted with S3's own keys, and limited to HTTPS (S3 User Guide,
# "Security best practices for directory buckets" and "Data protection and encryption"). Nor does it need a lifecycle: Stampede
# makes no multipart uploads here, `stampede` aborts those of other tools when it empties the bucket, and S3 Lifecycle would need
# permission to open sessions ("Working with S3 Lifecycle for directory buckets").
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

locals {
  arn = "arn:${var.partition}:s3express:${var.region}:${var.account_id}:bucket/${var.name}"

  # A program must name its session's mode: without one, S3 gives the widest allowed mode, and the request has no value for this
  # condition (S3 User Guide, "Example bucket policies for directory buckets").
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
