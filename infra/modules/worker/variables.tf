variable "name" {
  type        = string
  description = "Name of the function."
}

variable "description" {
  type        = string
  description = "What the function does, for the console."
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

variable "package" {
  type = object({
    path       = string
    is_archive = bool
    is_layer   = bool
  })
  description = "Somebody's code, a folder or a file that is a zip, deployed as it is, and measured by program_file; null for our own."
  default     = null
}

variable "layers" {
  type        = list(string)
  description = "ARNs of further layers."
  default     = []
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
  description = "Reserved concurrency; null reserves none of the account's."
  default     = null
}

variable "trigger" {
  type = object({
    queue_arn           = string
    maximum_concurrency = number
    provisioned_pollers = object({
      minimum = number
      maximum = number
    })
    batch_size        = number
    batching_window_s = number
  })
  description = "The queue that triggers the function, its maximum concurrency or event pollers, and its batches; null for none."
  default     = null
}

variable "statements" {
  type        = any
  description = "What the function may do besides taking messages and writing logs: list of IAM policy statements."
}

variable "network" {
  type = object({
    subnet_ids         = list(string)
    security_group_ids = list(string)
  })
  description = "Where the function may have network interfaces; null for outside a VPC."
  default     = null
}

variable "in_network" {
  type        = bool
  description = "Whether the function is in that network; outside, its role may still remove the interfaces that it left."
  default     = true
}

variable "file_system" {
  type = object({
    access_point_arn = string
    mount_path       = string
  })
  description = "Access point of a file system in that network, and the folder below /mnt where it is mounted; null for none."
  default     = null
}

variable "log_retention_days" {
  type        = number
  description = "Days that CloudWatch keeps the log lines."
}

variable "environment" {
  type        = map(string)
  description = "The function's environment variables."
}
