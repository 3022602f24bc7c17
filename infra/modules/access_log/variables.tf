variable "name" {
  type        = string
  description = "Name of the log group below /aws/vendedlogs/s3/, and first part of the other names."
}

variable "bucket_arns" {
  type        = map(string)
  description = "ARNs of the buckets whose requests are logged, by what they are. General purpose ones: a directory bucket has no access logs."
}

variable "log_retention_days" {
  type        = number
  description = "Days that CloudWatch keeps the lines."
}

variable "account_id" {
  type        = string
  description = "Account of the buckets and of the log group."
}

variable "region" {
  type        = string
  description = "Region of the buckets and of the log group."
}

variable "partition" {
  type        = string
  description = "AWS partition, as in ARNs: aws, aws-cn, aws-us-gov."
}
