# A key of KMS for one bucket. What it encrypts can be made again, so it goes soon after `destroy`.
resource "aws_kms_key" "this" {
  description             = "Encrypts the bucket ${var.bucket_name}."
  enable_key_rotation     = true
  deletion_window_in_days = 7 # the least

  # Who may do it, roles and users of the account, is said by their own policies; this says what the key is for.
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid       = "TheAccountManagesIt"
        Effect    = "Allow"
        Principal = { AWS = local.account }
        Action = [
          "kms:CancelKeyDeletion", "kms:Describe*", "kms:Disable*", "kms:Enable*", "kms:Get*", "kms:List*",
          "kms:PutKeyPolicy", "kms:ScheduleKeyDeletion", "kms:TagResource", "kms:UntagResource", "kms:UpdateKeyDescription",
        ]
        Resource = "*" # this key
      },
      {
        # S3 names the object, or with a bucket key the bucket, in what it has KMS encrypt (S3 User Guide, "Using server-side
        # encryption with AWS KMS keys", encryption context).
        Sid       = "TheAccountUsesItForTheBucketThroughS3"
        Effect    = "Allow"
        Principal = { AWS = local.account }
        Action    = ["kms:GenerateDataKey", "kms:Decrypt"]
        Resource  = "*"
        Condition = {
          StringEquals = { "kms:ViaService" = "s3.${var.region}.amazonaws.com" }
          StringLike   = { "kms:EncryptionContext:aws:s3:arn" = [local.bucket_arn, "${local.bucket_arn}/*"] }
        }
      },
    ]
  })
}

locals {
  account    = "arn:${var.partition}:iam::${var.account_id}:root" # not the root user: whoever in the account is allowed to
  bucket_arn = "arn:${var.partition}:s3:::${var.bucket_name}"
}
