variable "name" {
  type        = string
  description = "Name of the bucket."
}

variable "partition" {
  type        = string
  description = "AWS partition, as in ARNs: aws, aws-cn, aws-us-gov."
}

variable "versioned" {
  type        = bool
  description = "Whether the bucket keeps earlier versions of its objects."
  default     = false
}
