# The embedded AWS takes file systems and mounts none: a folder beside the copy of infra/ stands in for whatever would be
# mounted (stampede/emulator/stack.py makes it).
resource "aws_lambda_function" "worker" {
  environment {
    variables = {
      for name, value in var.environment : name => name == "MOUNT_PATH" && value != "" ? abspath("${path.root}/../mount") : value
    }
  }
}
