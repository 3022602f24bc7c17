# The embedded AWS keeps an instance and starts nothing: the program runs as a process of this machine. Of an instance it loses the
# subnet and the group when the public address is named beside them, and doesn't give back the metadata's options nor the disk's
# encryption, so that every plan would want those again.
resource "aws_instance" "host" {
  associate_public_ip_address = null

  lifecycle {
    ignore_changes = [metadata_options, root_block_device]
  }
}

# The embedded AWS checks writing to a stream against the name of its group; AWS against that of the stream.
locals {
  log_streams = aws_cloudwatch_log_group.host.arn
}
