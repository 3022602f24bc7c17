# The embedded AWS enforces the policy but uses plain HTTP, on loopback only: require TLS or loopback.
locals {
  without_tls = {
    Bool         = { "aws:SecureTransport" = "false" }
    NotIpAddress = { "aws:SourceIp" = "127.0.0.0/8" }
  }
}

# The provider would wait 25 s for the redrive policy, after 25 s for the queue. Unlike AWS, the embedded AWS accepts it with the
# queue, before the dead-letter queue exists.
resource "aws_sqs_queue" "work" {
  redrive_policy = jsonencode({
    deadLetterTargetArn = local.dead_letter_arn
    maxReceiveCount     = var.max_receive_count
  })
}

resource "aws_sqs_queue_redrive_policy" "work" {
  count = 0
}
