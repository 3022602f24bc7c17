# The queue that triggers the function, and the queue for messages that failed max_receive_count times.
#
# The provider waits for the propagation of every queue, 25 s after a change and 2 minutes after deletion. So policies are
# attributes and not resources, with ARNs made from names, because a queue can't refer to itself. Only the redrive policy is a
# resource, so that neither queue depends on the other, and both are created and deleted in parallel.
locals {
  dead_letter_name = "${var.name}-dead-letters"
  arn              = "${var.arn_prefix}:${var.name}"
  dead_letter_arn  = "${var.arn_prefix}:${local.dead_letter_name}"

  without_tls = { Bool = { "aws:SecureTransport" = "false" } }
  tls_only_policy = {
    for arn in [local.arn, local.dead_letter_arn] : arn => jsonencode({
      Version = "2012-10-17"
      Statement = [{
        Sid       = "TlsOnly"
        Effect    = "Deny"
        Principal = "*"
        Action    = "sqs:*"
        Resource  = arn
        Condition = local.without_tls
      }]
    })
  }
}

resource "aws_sqs_queue" "work" {
  name = var.name

  visibility_timeout_seconds = var.visibility_timeout_s
  sqs_managed_sse_enabled    = true
  policy                     = local.tls_only_policy[local.arn]
}

resource "aws_sqs_queue" "dead_letters" {
  name = local.dead_letter_name

  # The maximum: a dead letter keeps its age from the first queue.
  message_retention_seconds = 1209600
  sqs_managed_sse_enabled   = true
  policy                    = local.tls_only_policy[local.dead_letter_arn]

  redrive_allow_policy = jsonencode({
    redrivePermission = "byQueue"
    sourceQueueArns   = [local.arn]
  })
}

resource "aws_sqs_queue_redrive_policy" "work" {
  queue_url = aws_sqs_queue.work.url

  redrive_policy = jsonencode({
    deadLetterTargetArn = aws_sqs_queue.dead_letters.arn
    maxReceiveCount     = var.max_receive_count
  })
}
