# Variables of the download experiment alone.

variable "s3_file_name" {
  type        = string
  description = "Key of the object that the functions download, the only one that they may read."
  default     = "sample_large_file.dat"
  nullable    = false

  # The key is part of the function's policy, where * ? and $ would allow more objects.
  validation {
    condition = (
      can(regex(local.rules.s3_file_name.matches, var.s3_file_name)) &&
      length(var.s3_file_name) <= local.rules.s3_file_name.longest
    )
    error_message = "s3_file_name = ${jsonencode(var.s3_file_name)}: ${local.rules.s3_file_name.rule}."
  }
}

variable "method" {
  type        = string
  description = "How to download: download_file (as published), stream, ranges, crt in Python; go_stream, go_ranges in Go."
  default     = "download_file"
  nullable    = false

  validation {
    condition     = contains(local.rules.method.choices, var.method)
    error_message = "method = ${jsonencode(var.method)}: ${local.rules.method.rule}."
  }
}

variable "sink" {
  type        = string
  description = "Where the bytes go: discard, memory or tmp; null: the method's own (streams discard, ranges memory, else tmp)."
  default     = null

  validation {
    condition     = var.sink == null ? true : contains(local.rules.sink.choices, var.sink)
    error_message = "sink = ${jsonencode(var.sink)}: ${local.rules.sink.rule}."
  }

  validation {
    condition     = !contains(local.rules.sink.shared.methods_to_tmp, var.method) || !contains(["discard", "memory"], coalesce(var.sink, "tmp"))
    error_message = "sink = ${jsonencode(var.sink)}: must be tmp with method = ${jsonencode(var.method)}, which writes a file."
  }
}

variable "range_parallel" {
  type        = number
  description = "Connections that ranges and go_ranges use at once, 1 to 64."
  default     = 8
  nullable    = false

  validation {
    condition = (
      var.range_parallel >= local.rules.range_parallel.least && var.range_parallel <= local.rules.range_parallel.most &&
      floor(var.range_parallel) == var.range_parallel
    )
    error_message = "range_parallel = ${var.range_parallel}: ${local.rules.range_parallel.rule}."
  }
}

variable "range_part_mb" {
  type        = number
  description = "Size of one range of ranges, go_ranges and crt, in MiB, 16 to 64."
  default     = 16
  nullable    = false

  # With smaller ranges, hundreds of functions exceed the 5,500 GETs a second that S3 grants a prefix.
  validation {
    condition = (
      var.range_part_mb >= local.rules.range_part_mb.least && var.range_part_mb <= local.rules.range_part_mb.most &&
      floor(var.range_part_mb) == var.range_part_mb
    )
    error_message = "range_part_mb = ${var.range_part_mb}: ${local.rules.range_part_mb.rule}."
  }
}

variable "object_size_mb" {
  type        = number
  description = "Size of the object in MiB, 1 or more. Terraform only checks that it fits into the function's /tmp or memory."
  default     = 1024
  nullable    = false

  validation {
    condition     = var.object_size_mb >= local.rules.object_size_mb.least && floor(var.object_size_mb) == var.object_size_mb
    error_message = "object_size_mb = ${var.object_size_mb}: ${local.rules.object_size_mb.rule}."
  }
}

variable "existing_bucket" {
  type        = bool
  description = "Whether s3_bucket_name is a bucket of yours: s3_file_name is read from it, and nothing in it is changed."
  default     = false
  nullable    = false

  validation {
    condition     = !var.existing_bucket || (var.experiment == "download" && var.s3_bucket_name != null)
    error_message = "existing_bucket = ${var.existing_bucket}: needs experiment = download, and s3_bucket_name."
  }

  validation {
    condition     = !var.existing_bucket || !var.server_side_proof
    error_message = "existing_bucket = ${var.existing_bucket}: excludes server_side_proof, which would change where the bucket's access logs go."
  }
}

variable "object_kms_key_arn" {
  type        = string
  description = "ARN of the KMS key that encrypts the object of an existing bucket; null where S3's own keys do."
  default     = null

  validation {
    condition = var.object_kms_key_arn == null ? true : (
      var.existing_bucket && can(regex(local.rules.object_kms_key_arn.matches, var.object_kms_key_arn))
    )
    error_message = "object_kms_key_arn = ${jsonencode(var.object_kms_key_arn)}: ${local.rules.object_kms_key_arn.rule}, and needs existing_bucket = true."
  }
}

variable "requester_pays" {
  type        = bool
  description = "Whether requests say that you pay for them, which a Requester Pays bucket of another account wants."
  default     = false
  nullable    = false

  validation {
    condition     = !var.requester_pays || var.existing_bucket
    error_message = "requester_pays = ${var.requester_pays}: needs existing_bucket = true."
  }
}
