# The function's permissions: the experiment's, to receive messages from one queue, and to write to one log group.
resource "aws_iam_role" "worker" {
  name        = var.role_name
  description = "Runs the function ${var.name}."

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "lambda.amazonaws.com" }
      Action    = "sts:AssumeRole"
      # Only for functions and triggers of this account (Lambda guide, "Working with AWS managed policies in the execution
      # role"). aws:SourceArn can't limit it to one function: the trigger assumes the role too, and its id isn't known in advance.
      Condition = { StringEquals = { "aws:SourceAccount" = var.account_id } }
    }]
  })
}

locals {
  # The function itself needs ChangeMessageVisibility, so that a failed message comes back after seconds.
  take_messages = var.trigger == null ? [] : [{
    Sid      = "TakeMessages"
    Effect   = "Allow"
    Action   = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ChangeMessageVisibility"]
    Resource = var.trigger.queue_arn
  }]

  # Lambda makes network interfaces with the function's role when it sets the function up, by these actions, which can't be limited
  # to one interface. The function's code may not use them: only its requests carry lambda:SourceFunctionArn (Lambda guide,
  # "Giving Lambda functions access to resources in an Amazon VPC").
  network_interface_actions = [
    "ec2:CreateNetworkInterface", "ec2:DeleteNetworkInterface", "ec2:DescribeNetworkInterfaces", "ec2:DescribeSubnets",
    "ec2:AssignPrivateIpAddresses", "ec2:UnassignPrivateIpAddresses",
  ]
  join_the_network = [for statement in [
    {
      Sid      = "JoinTheNetwork"
      Effect   = "Allow"
      Action   = local.network_interface_actions
      Resource = "*"
    },
    {
      Sid       = "OnlyLambdaItself"
      Effect    = "Deny"
      Action    = local.network_interface_actions
      Resource  = "*"
      Condition = { Null = { "lambda:SourceFunctionArn" = "false" } }
    },
  ] : statement if var.network != null]

  # No logs:CreateLogGroup: Terraform makes the group, and a deleted function's last lines can't recreate it after `destroy`.
  write_logs = [{
    Sid      = "WriteLogs"
    Effect   = "Allow"
    Action   = ["logs:CreateLogStream", "logs:PutLogEvents"]
    Resource = "${aws_cloudwatch_log_group.worker.arn}:*" # its streams
  }]
}

resource "aws_iam_role_policy" "worker" {
  name = "worker"
  role = aws_iam_role.worker.id

  policy = jsonencode({
    Version   = "2012-10-17"
    Statement = concat(var.statements, local.take_messages, local.join_the_network, local.write_logs)
  })
}

resource "aws_cloudwatch_log_group" "worker" {
  #checkov:skip=CKV_AWS_158:The lines are timings, no secrets, and CloudWatch encrypts them with its own key.
  #checkov:skip=CKV_AWS_338:A week, as published; the records are kept in the results folder.
  name              = "/aws/lambda/${var.name}"
  retention_in_days = var.log_retention_days
}
