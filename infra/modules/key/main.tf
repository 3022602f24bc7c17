# A KMS key for one bucket, whose content can be made again: the key is deleted soon after `destroy`.
resource "aws_kms_key" "this" {
  description             = "Encrypts the bucket ${var.bucket_name}."
  enable_key_rotation     = true
  deletion_window_in_days = 7 # the minimum

  # The policy names the deploying user, who needs no permission for keys but to create one: the user's own policy couldn't tell
  # this key from others, whose tags the user may write as well (KMS guide, "Controlling access to tags"). Roles and other users
  # have the permissions of their own policies.
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid       = "TheAccountManagesIt"
        Effect    = "Allow"
        Principal = { AWS = local.account }
        Action    = local.manage
        Resource  = "*" # this key
      },
      {
        Sid       = "TheAccountUsesItForTheBucketThroughS3"
        Effect    = "Allow"
        Principal = { AWS = local.account }
        Action    = local.use
        Resource  = "*"
        Condition = local.for_the_bucket_through_s3
      },
      {
        Sid       = "TheDeployerManagesIt"
        Effect    = "Allow"
        Principal = { AWS = "*" }
        Action    = local.manage
        Resource  = "*"
        Condition = local.deployer
      },
      {
        Sid       = "TheDeployerUsesItForTheBucketThroughS3"
        Effect    = "Allow"
        Principal = { AWS = "*" }
        Action    = local.use
        Resource  = "*"
        Condition = merge(local.deployer, local.for_the_bucket_through_s3)
      },
    ]
  })
}

locals {
  account    = "arn:${var.partition}:iam::${var.account_id}:root" # not the root user, but anybody with permission in the account
  bucket_arn = "arn:${var.partition}:s3:::${var.bucket_name}"

  manage = [
    "kms:CancelKeyDeletion", "kms:Describe*", "kms:Disable*", "kms:Enable*", "kms:Get*", "kms:List*",
    "kms:PutKeyPolicy", "kms:ScheduleKeyDeletion", "kms:TagResource", "kms:UntagResource", "kms:UpdateKeyDescription",
  ]
  use = ["kms:GenerateDataKey", "kms:Decrypt"]

  # S3's encryption context is the object, or with a bucket key the bucket (S3 User Guide, "Using server-side encryption with
  # AWS KMS keys").
  for_the_bucket_through_s3 = {
    StringEquals = { "kms:ViaService" = "s3.${var.region}.amazonaws.com" }
    StringLike   = { "kms:EncryptionContext:aws:s3:arn" = [local.bucket_arn, "${local.bucket_arn}/*"] }
  }

  # For a session it is the role, which may have a path that the session's ARN omits.
  session_role = one(regexall("^arn:[^:]+:sts::\\d+:assumed-role/([^/]+)/", var.deployer_arn)[*][0])
  deployer = {
    ArnLike = {
      "aws:PrincipalArn" = local.session_role == null ? [var.deployer_arn] : [
        for path in ["", "*/"] : "arn:${var.partition}:iam::${var.account_id}:role/${path}${local.session_role}"
      ]
    }
  }
}
