# The embedded AWS speaks plain HTTP, on loopback only, and does enforce the policy: TLS or loopback, then.
locals {
  without_tls = {
    Bool         = { "aws:SecureTransport" = "false" }
    NotIpAddress = { "aws:SourceIp" = "127.0.0.0/8" }
  }
}
