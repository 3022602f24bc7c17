# The embedded AWS has file systems but mounts none: a folder next to the copy of infra/ stands in for any mount
# (stampede/emulator/stack.py makes it).
resource "aws_lambda_function" "worker" {
  environment {
    variables = {
      for name, value in var.environment : name => name == "MOUNT_PATH" && value != "" ? abspath("${path.root}/../mount") : value
    }
  }
}
