variable "name" {
  type        = string
  description = "Name of the bucket."
}

variable "partition" {
  type        = string
  description = "AWS partition, as in ARNs: aws, aws-cn, aws-us-gov."
}
