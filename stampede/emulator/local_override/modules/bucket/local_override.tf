# The embedded AWS speaks plain HTTP, on loopback only, and does enforce the policy: TLS or loopback, then.
locals {
  without_tls = {
    Bool         = { "aws:SecureTransport" = "false" }
    NotIpAddress = { "aws:SourceIp" = "127.0.0.0/8" }
  }
}

# The provider waits 55 s for this rule to spread, and no part of an upload outlives the emulator anyway.
resource "aws_s3_bucket_lifecycle_configuration" "data" {
  count = 0
}
