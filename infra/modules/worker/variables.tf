variable "name" {
  type        = string
  description = "Name of the function."
}

variable "account_id" {
  type        = string
  description = "The account whose functions may use the role."
}

variable "role_name" {
  type        = string
  description = "Name of the function's role, unique in the account."
}

variable "source_folders" {
  type        = list(string)
  description = "Folders whose *.py files are the function's packages, each by its folder's name, unless there is a program_file."
}

variable "program_file" {
  type        = string
  description = "Executable that is the function, built before; null for one in Python."
  default     = null
}

variable "layer_folder" {
  type        = string
  description = "Folder with the packages that the runtime lacks, in its folder python, built before; null for none."
  default     = null
}

variable "zip_file" {
  type        = string
  description = "Where to write the function's zip."
}

variable "handler" {
  type        = string
  description = "Entry point, package.file.function; anything for a program_file."
}

variable "runtime" {
  type        = string
  description = "Lambda runtime."
}

variable "architecture" {
  type        = string
  description = "x86_64 or arm64."
}

variable "memory_size_mb" {
  type        = number
  description = "Memory, in MB."
}

variable "timeout_s" {
  type        = number
  description = "Longest duration of one invocation, in seconds."
}

variable "ephemeral_storage_mb" {
  type        = number
  description = "Size of /tmp, in MB."
}

variable "reserved_concurrency" {
  type        = number
  description = "Most invocations at once, kept free for this function."
}

variable "maximum_concurrency" {
  type        = number
  description = "Most invocations at once by the trigger, from 2; null with provisioned_pollers."
  default     = null
}

variable "provisioned_pollers" {
  type = object({
    minimum = number
    maximum = number
  })
  description = "Event pollers kept ready; null for the standard mode. Excludes maximum_concurrency."
  default     = null
}

variable "queue_arn" {
  type        = string
  description = "The queue that triggers the function."
}

variable "readable_object_arn" {
  type        = string
  description = "The one S3 object that the function may read."
}

variable "log_retention_days" {
  type        = number
  description = "Days that CloudWatch keeps the log lines."
}

variable "environment" {
  type        = map(string)
  description = "The function's environment variables."
}
