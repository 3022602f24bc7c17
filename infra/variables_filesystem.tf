# What the file system experiment alone has.

variable "storage" {
  type        = string
  description = "What the function copies from: s3 (outside the VPC, as published), s3_in_vpc (the control, in the network that the mounts need), efs or s3files (Amazon S3 Files, never run on AWS here)."
  default     = "s3"
  nullable    = false

  validation {
    condition     = contains(["s3", "s3_in_vpc", "efs", "s3files"], var.storage)
    error_message = "storage = ${jsonencode(var.storage)}: must be one of: s3, s3_in_vpc, efs, s3files."
  }

  validation {
    condition     = var.storage != "s3files" || var.with_s3files
    error_message = "storage = ${jsonencode(var.storage)}: needs with_s3files = true, which puts up that file system too."
  }
}

variable "read_method" {
  type        = string
  description = "How to read from S3: download_file (the published way, boto3's, also what null means) or pool (our own HTTP over connections that are kept). A mount is copied from, whatever this says."
  default     = null

  validation {
    condition     = var.read_method == null ? true : contains(["download_file", "pool"], var.read_method)
    error_message = "read_method = ${jsonencode(var.read_method)}: must be download_file or pool."
  }
}

variable "cache" {
  type        = string
  description = "What happens to the page cache of a mount before the timed part: keep, or drop (POSIX_FADV_DONTNEED on every file)."
  default     = "keep"
  nullable    = false

  validation {
    condition     = contains(["keep", "drop"], var.cache)
    error_message = "cache = ${jsonencode(var.cache)}: must be keep or drop."
  }
}

variable "large_file_mb" {
  type        = number
  description = "Size of the one large file, in MiB."
  default     = 1024
  nullable    = false

  validation {
    condition     = var.large_file_mb >= 1 && floor(var.large_file_mb) == var.large_file_mb
    error_message = "large_file_mb = ${var.large_file_mb}: must be a whole number of MiB, at least 1."
  }
}

variable "small_files" {
  type        = number
  description = "Number of small files, of 10 to 100 KB in turn."
  default     = 1000
  nullable    = false

  # Their keys have five digits.
  validation {
    condition     = var.small_files >= 1 && var.small_files <= 100000 && floor(var.small_files) == var.small_files
    error_message = "small_files = ${var.small_files}: must be a whole number from 1 to 100000."
  }
}

variable "subnet_count" {
  type        = number
  description = "Private subnets of the VPC, one a zone. A VPC caps what many functions at once get; more subnets may move that."
  default     = 2
  nullable    = false

  validation {
    condition     = var.subnet_count >= 1 && var.subnet_count <= 6 && floor(var.subnet_count) == var.subnet_count
    error_message = "subnet_count = ${var.subnet_count}: must be a whole number from 1 to 6."
  }
}

variable "throughput_mode" {
  type        = string
  description = "Throughput of EFS: elastic (billed by the GB that is read and written) or bursting (by what is stored, 50 KiB/s a GiB)."
  default     = "elastic"
  nullable    = false

  validation {
    condition     = contains(["elastic", "bursting"], var.throughput_mode)
    error_message = "throughput_mode = ${jsonencode(var.throughput_mode)}: must be elastic or bursting."
  }
}

variable "with_s3files" {
  type        = bool
  description = "Whether Amazon S3 Files is put up too, over a bucket of its own, by CloudFormation. Never run on AWS here."
  default     = false
  nullable    = false

  validation {
    condition     = !var.with_s3files || var.experiment == "filesystem"
    error_message = "with_s3files = ${var.with_s3files}: needs experiment = filesystem."
  }
}

variable "direct_s3_read" {
  type        = string
  description = "Whether Lambda may read the files of S3 Files from their bucket: AUTO (from 512 MB of memory, Lambda's default) or DISABLED (the function's role may not, so that every read goes through the file system)."
  default     = "AUTO"
  nullable    = false

  validation {
    condition     = contains(["AUTO", "DISABLED"], var.direct_s3_read)
    error_message = "direct_s3_read = ${jsonencode(var.direct_s3_read)}: must be AUTO or DISABLED."
  }
}
