# A host's permissions: the experiment's, to fetch its program, to receive messages from one queue, to write to one log group, and
# to accept sessions of Session Manager.
resource "aws_iam_role" "host" {
  name        = var.role_name
  description = "Runs the hosts ${var.name}."

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "ec2.amazonaws.com" }
      Action    = "sts:AssumeRole"
    }]
  })
}

resource "aws_iam_instance_profile" "host" {
  name = var.role_name
  role = aws_iam_role.host.name
}

resource "aws_iam_role_policy" "host" {
  #checkov:skip=CKV_AWS_355:Session Manager's actions know no resource.
  name = "host"
  role = aws_iam_role.host.id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat(var.statements, [
      {
        Sid      = "FetchTheProgram"
        Effect   = "Allow"
        Action   = "s3:GetObject"
        Resource = "${var.bucket.arn}/program/*"
      },
      {
        Sid      = "UseTheBucketsKey" # only through S3, as the key's policy says
        Effect   = "Allow"
        Action   = ["kms:GenerateDataKey", "kms:Decrypt"]
        Resource = var.key_arn
      },
      {
        Sid      = "TakeMessages"
        Effect   = "Allow"
        Action   = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility"]
        Resource = var.queue_arn
      },
      {
        Sid      = "WriteLogs"
        Effect   = "Allow"
        Action   = ["logs:CreateLogStream", "logs:PutLogEvents"]
        Resource = local.log_streams
      },
      {
        # The minimum for a session (Systems Manager User Guide, "Create a custom IAM role for Session Manager"); the managed
        # AmazonSSMManagedInstanceCore may also read every parameter of the account.
        Sid    = "BeReachedBySessionManager"
        Effect = "Allow"
        Action = [
          "ssm:UpdateInstanceInformation", "ssmmessages:CreateControlChannel", "ssmmessages:CreateDataChannel",
          "ssmmessages:OpenControlChannel", "ssmmessages:OpenDataChannel",
        ]
        Resource = "*"
      },
    ])
  })
}

resource "aws_cloudwatch_log_group" "host" {
  #checkov:skip=CKV_AWS_158:The lines are timings and keys of objects, no secrets, and CloudWatch encrypts them with its own key.
  #checkov:skip=CKV_AWS_338:A week, as published; the records are kept in the results folder.
  name              = var.log_group_name
  retention_in_days = var.log_retention_days
}

locals {
  log_streams = "${aws_cloudwatch_log_group.host.arn}:*"
}
