# S3 Files uses this role to synchronize bucket and file system, and makes EventBridge rules to learn of changes (S3 guide,
# "Prerequisites for S3 Files").
resource "aws_iam_role" "synchronisation" {
  name        = var.role_name
  description = "Keeps the S3 Files file system ${var.name} and its bucket the same."

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "elasticfilesystem.amazonaws.com" }
      Action    = "sts:AssumeRole"
      Condition = {
        StringEquals = { "aws:SourceAccount" = var.account_id }
        ArnLike      = { "aws:SourceArn" = "arn:${var.partition}:s3files:${var.region}:${var.account_id}:file-system/*" }
      }
    }]
  })
}

resource "aws_iam_role_policy" "synchronisation" {
  name = "synchronisation"
  role = aws_iam_role.synchronisation.id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid      = "TheBucket"
        Effect   = "Allow"
        Action   = ["s3:ListBucket", "s3:ListBucketVersions"]
        Resource = module.bucket.arn
      },
      {
        Sid      = "ItsObjects"
        Effect   = "Allow"
        Action   = ["s3:AbortMultipartUpload", "s3:DeleteObject*", "s3:GetObject*", "s3:List*", "s3:PutObject*"]
        Resource = "${module.bucket.arn}/*"
      },
      {
        Sid       = "RulesOfItsOwn"
        Effect    = "Allow"
        Action    = ["events:DeleteRule", "events:DisableRule", "events:EnableRule", "events:PutRule", "events:PutTargets", "events:RemoveTargets"]
        Resource  = "arn:${var.partition}:events:${var.region}:${var.account_id}:rule/DO-NOT-DELETE-S3-Files*"
        Condition = { StringEquals = { "events:ManagedBy" = "elasticfilesystem.amazonaws.com" } }
      },
      {
        Sid      = "SeeRules"
        Effect   = "Allow"
        Action   = ["events:DescribeRule", "events:ListRuleNamesByTarget", "events:ListRules", "events:ListTargetsByRule"]
        Resource = "arn:${var.partition}:events:${var.region}:${var.account_id}:rule/*"
      },
    ]
  })
}
