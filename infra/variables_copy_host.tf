# Variables of the copy by hosts alone.

variable "instance_type" {
  type        = string
  description = "EC2 instance type of the hosts, such as the published m5a.8xlarge; its name decides the processor."
  default     = "m5a.8xlarge"
  nullable    = false

  validation {
    condition     = can(regex(local.rules.instance_type.matches, var.instance_type))
    error_message = "instance_type = ${jsonencode(var.instance_type)}: ${local.rules.instance_type.rule}."
  }
}

variable "bucket_key" {
  type        = bool
  description = "Whether the hosts' bucket has an S3 Bucket Key, so that S3 asks KMS once for many objects and not for each."
  default     = true
  nullable    = false

  validation {
    condition     = var.bucket_key || var.experiment == "copy_host"
    error_message = "bucket_key = ${var.bucket_key}: needs experiment = copy_host, the only one whose bucket has a KMS key."
  }
}
