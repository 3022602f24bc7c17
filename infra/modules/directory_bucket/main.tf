# A bucket of S3 Express One Zone: in one zone, and reached by sessions, which IAM allows for the whole bucket and not for a key.
# It is private, without ACLs, encrypted by S3's own keys and answers HTTPS alone from the start, and none of that can be taken
# away (S3 User Guide, "Security best practices for directory buckets" and "Data protection and encryption"), so it has no policy of
# its own. Nor a lifecycle: nothing of ours uploads in parts, `stampede` aborts what other tools left when it empties the bucket, and
# S3 Lifecycle would have to be let in to open sessions ("Working with S3 Lifecycle for directory buckets").
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
