# Variables of the file system experiment alone.

variable "storage" {
  type        = string
  description = "What the function reads: s3 (as published), s3_in_vpc (in the mounts' network), efs or s3files (S3 Files)."
  default     = "s3"
  nullable    = false

  validation {
    condition     = contains(local.rules.storage.choices, var.storage)
    error_message = "storage = ${jsonencode(var.storage)}: ${local.rules.storage.rule}."
  }

  validation {
    condition     = var.storage != "s3files" || var.with_s3files
    error_message = "storage = ${jsonencode(var.storage)}: needs with_s3files = true, which creates that file system."
  }
}

variable "read_method" {
  type        = string
  description = "How to read from S3: download_file (as published; null) or pool (one GetObject a file, in threads)."
  default     = null

  validation {
    condition     = var.read_method == null ? true : contains(local.rules.read_method.choices, var.read_method)
    error_message = "read_method = ${jsonencode(var.read_method)}: ${local.rules.read_method.rule}."
  }
}

variable "cache" {
  type        = string
  description = "What happens to a mount's page cache before each repeat read: keep, or drop (POSIX_FADV_DONTNEED)."
  default     = "keep"
  nullable    = false

  validation {
    condition     = contains(local.rules.cache.choices, var.cache)
    error_message = "cache = ${jsonencode(var.cache)}: ${local.rules.cache.rule}."
  }
}

variable "large_file_mb" {
  type        = number
  description = "Size of the large file in MiB, 1 or more."
  default     = 1024
  nullable    = false

  validation {
    condition     = var.large_file_mb >= local.rules.large_file_mb.least && floor(var.large_file_mb) == var.large_file_mb
    error_message = "large_file_mb = ${var.large_file_mb}: ${local.rules.large_file_mb.rule}."
  }
}

variable "small_files" {
  type        = number
  description = "Number of small files, of 10 to 100 KB in turn, 1 to 100000."
  default     = 1000
  nullable    = false

  # The files' keys have five digits.
  validation {
    condition = (
      var.small_files >= local.rules.small_files.least && var.small_files <= local.rules.small_files.most &&
      floor(var.small_files) == var.small_files
    )
    error_message = "small_files = ${var.small_files}: ${local.rules.small_files.rule}."
  }
}

variable "subnet_count" {
  type        = number
  description = "How many zones functions and mount targets are in, one private subnet each, 1 to 6."
  default     = 2
  nullable    = false

  validation {
    condition = (
      var.subnet_count >= local.rules.subnet_count.least && var.subnet_count <= local.rules.subnet_count.most &&
      floor(var.subnet_count) == var.subnet_count
    )
    error_message = "subnet_count = ${var.subnet_count}: ${local.rules.subnet_count.rule}."
  }
}

variable "throughput_mode" {
  type        = string
  description = "Throughput mode of EFS: elastic (billed by the GB moved) or bursting (50 KiB/s for each GiB stored)."
  default     = "elastic"
  nullable    = false

  validation {
    condition     = contains(local.rules.throughput_mode.choices, var.throughput_mode)
    error_message = "throughput_mode = ${jsonencode(var.throughput_mode)}: ${local.rules.throughput_mode.rule}."
  }
}

variable "with_s3files" {
  type        = bool
  description = "Whether to create Amazon S3 Files too, over a bucket of its own, by CloudFormation. Not yet run on AWS."
  default     = false
  nullable    = false

  validation {
    condition     = !var.with_s3files || var.experiment == "filesystem"
    error_message = "with_s3files = ${var.with_s3files}: needs experiment = filesystem."
  }
}

variable "direct_s3_read" {
  type        = string
  description = "Whether Lambda may read S3 Files straight from their bucket: AUTO (Lambda's default) or DISABLED."
  default     = "AUTO"
  nullable    = false

  validation {
    condition     = contains(local.rules.direct_s3_read.choices, var.direct_s3_read)
    error_message = "direct_s3_read = ${jsonencode(var.direct_s3_read)}: ${local.rules.direct_s3_read.rule}."
  }
}
