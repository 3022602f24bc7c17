# The embedded AWS enforces the policy but uses plain HTTP, on loopback only: require TLS or loopback.
locals {
  without_tls = {
    Bool         = { "aws:SecureTransport" = "false" }
    NotIpAddress = { "aws:SourceIp" = "127.0.0.0/8" }
  }
}

# The provider would wait 55 s for this rule, and parts of uploads end with the emulator anyway.
resource "aws_s3_bucket_lifecycle_configuration" "data" {
  count = 0
}
