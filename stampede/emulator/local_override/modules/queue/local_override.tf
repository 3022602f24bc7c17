# The embedded AWS speaks plain HTTP, on loopback only, and does enforce the policy: TLS or loopback, then.
locals {
  without_tls = {
    Bool         = { "aws:SecureTransport" = "false" }
    NotIpAddress = { "aws:SourceIp" = "127.0.0.0/8" }
  }
}

# The provider waits 25 s for the redrive policy to spread, after the 25 s for the queue. The embedded AWS takes it with the
# queue, before there is a queue for dead letters; AWS doesn't.
resource "aws_sqs_queue" "work" {
  redrive_policy = jsonencode({
    deadLetterTargetArn = local.dead_letter_arn
    maxReceiveCount     = var.max_receive_count
  })
}

resource "aws_sqs_queue_redrive_policy" "work" {
  count = 0
}
