# No emulator has directory buckets, so a general bucket stands in. Its name is a plain one: by the ending --x-s3 clients would ask
# for a session. This file is in the place of the module's own.
module "stand_in" {
  source = "../bucket"

  name      = local.name
  partition = var.partition
}

locals {
  name = "${replace(var.name, "/(-[0-9]{12})?--.*$/", "")}-stand-in-${var.account_id}-${var.region}"
  arn  = "arn:${var.partition}:s3:::${local.name}"

  # What a session of that mode may ask of us.
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
