variable "name" {
  type        = string
  description = "Name of the log group below /aws/vendedlogs/s3/, and first part of the other names."
}

variable "data_bucket_arn" {
  type        = string
  description = "ARN of the bucket of data, a general purpose one: a directory bucket has no access logs."
}

variable "copies_bucket_arns" {
  type        = list(string)
  description = "ARN of the bucket of copies, one at most."
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
