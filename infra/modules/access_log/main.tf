# The server access logs of buckets, in a log group of their own: every request as S3 saw it, a JSON object a line (S3 User
# Guide, "Delivering server access logs to CloudWatch Logs"). S3 begins 15 to 20 minutes after this is up, tells nothing of
# before, and does its best: a line may come hours later, twice, or not at all.
resource "aws_cloudwatch_log_group" "access" {
  #checkov:skip=CKV_AWS_158:The lines are names of roles, keys and addresses inside AWS, no secrets, and CloudWatch encrypts them with its own key.
  #checkov:skip=CKV_AWS_338:As long as the records; what was counted of it is kept in the results folder.
  name              = "/aws/vendedlogs/s3/${var.name}"
  retention_in_days = var.log_retention_days
}

# AWS would add such a policy itself, for all of the account's groups of vended logs, and leave it there (CloudWatch Logs guide,
# "Logs sent to CloudWatch Logs"). This policy is for one group and is destroyed with it.
resource "aws_cloudwatch_log_resource_policy" "delivery" {
  policy_name = "${var.name}-access-log"

  policy_document = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "S3Delivers"
      Effect    = "Allow"
      Principal = { Service = "delivery.logs.amazonaws.com" }
      Action    = ["logs:CreateLogStream", "logs:PutLogEvents"]
      Resource  = "${aws_cloudwatch_log_group.access.arn}:log-stream:*"
      Condition = {
        StringEquals = { "aws:SourceAccount" = var.account_id }
        ArnLike      = { "aws:SourceArn" = "arn:${var.partition}:logs:${var.region}:${var.account_id}:*" }
      }
    }]
  })
}

resource "aws_cloudwatch_log_delivery_destination" "group" {
  name = "${var.name}-access-log"

  delivery_destination_configuration {
    destination_resource_arn = aws_cloudwatch_log_group.access.arn
  }
}

# CloudWatch Logs accepts one change of an account's deliveries at a time and answers others with a ConflictException, which the
# provider doesn't retry (hashicorp/terraform-provider-aws#42194, for sources in any version). So each resource waits for the
# previous one, in both directions.
resource "aws_cloudwatch_log_delivery_source" "data" {
  name         = "${var.name}-data"
  log_type     = "S3_SERVER_ACCESS_LOGS"
  resource_arn = var.data_bucket_arn

  depends_on = [aws_cloudwatch_log_delivery_destination.group]
}

resource "aws_cloudwatch_log_delivery" "data" {
  delivery_source_name     = aws_cloudwatch_log_delivery_source.data.name
  delivery_destination_arn = aws_cloudwatch_log_delivery_destination.group.arn

  depends_on = [aws_cloudwatch_log_resource_policy.delivery]
}

resource "aws_cloudwatch_log_delivery_source" "copies" {
  count = length(var.copies_bucket_arns)

  name         = "${var.name}-copies"
  log_type     = "S3_SERVER_ACCESS_LOGS"
  resource_arn = var.copies_bucket_arns[count.index]

  depends_on = [aws_cloudwatch_log_delivery.data]
}

resource "aws_cloudwatch_log_delivery" "copies" {
  count = length(var.copies_bucket_arns)

  delivery_source_name     = aws_cloudwatch_log_delivery_source.copies[count.index].name
  delivery_destination_arn = aws_cloudwatch_log_delivery_destination.group.arn
}
