# No emulator has directory buckets, so a general purpose bucket stands in, with a plain name: for the suffix --x-s3, clients would
# ask for a session. This file replaces the module's own.
module "stand_in" {
  source = "../bucket"

  name      = local.name
  partition = var.partition
}

locals {
  name = "${replace(var.name, "/(-[0-9]{12})?--.*$/", "")}-stand-in-${var.account_id}-${var.region}"
  arn  = "arn:${var.partition}:s3:::${local.name}"

  # The permissions of a session's mode.
  session_actions = {
    ReadOnly  = ["s3:GetObject", "s3:ListBucket"]
    ReadWrite = ["s3:GetObject", "s3:ListBucket", "s3:PutObject"]
  }
  sessions = {
    for mode in keys(local.session_actions) : mode => {
      Sid      = "${mode}Sessions"
      Effect   = "Allow"
      Action   = local.session_actions[mode]
      Resource = [local.arn, "${local.arn}/*"]
    }
  }
}
