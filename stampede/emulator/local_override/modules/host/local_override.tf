# The embedded AWS has instances but starts nothing: the program runs as a local process. It loses an instance's subnet and group
# if the public address is set with them, and doesn't return the metadata options and the disk's encryption, so every plan would
# set those again.
resource "aws_instance" "host" {
  associate_public_ip_address = null

  lifecycle {
    ignore_changes = [metadata_options, root_block_device]
  }
}

# For writes to a stream, the embedded AWS checks the ARN of the group, and AWS that of the stream.
locals {
  log_streams = aws_cloudwatch_log_group.host.arn
}
