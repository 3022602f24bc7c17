# What the function may do: read one object, take messages from one queue, write to one log group.
resource "aws_iam_role" "worker" {
  name        = var.role_name
  description = "Runs the function ${var.name}."

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "lambda.amazonaws.com" }
      Action    = "sts:AssumeRole"
    }]
  })
}

resource "aws_iam_role_policy" "worker" {
  name = "worker"
  role = aws_iam_role.worker.id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid      = "ReadTheObject"
        Effect   = "Allow"
        Action   = "s3:GetObject" # also what HeadObject needs
        Resource = var.readable_object_arn
      },
      {
        # ChangeMessageVisibility is the function's own: a message that failed comes back after seconds.
        Sid      = "TakeMessages"
        Effect   = "Allow"
        Action   = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ChangeMessageVisibility"]
        Resource = var.queue_arn
      },
      {
        # Without logs:CreateLogGroup: Terraform makes the group, and the last lines of a function that is being deleted
        # can't bring it back after `destroy`.
        Sid      = "WriteLogs"
        Effect   = "Allow"
        Action   = ["logs:CreateLogStream", "logs:PutLogEvents"]
        Resource = "${aws_cloudwatch_log_group.worker.arn}:*" # its streams
      },
    ]
  })
}

resource "aws_cloudwatch_log_group" "worker" {
  #checkov:skip=CKV_AWS_158:The lines are timings, no secrets, and CloudWatch encrypts them with its own key.
  #checkov:skip=CKV_AWS_338:A week, as published; the records are kept in the results folder.
  name              = "/aws/lambda/${var.name}"
  retention_in_days = var.log_retention_days
}
