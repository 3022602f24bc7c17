variable "bucket_name" {
  type        = string
  description = "The bucket that the key is for."
}

variable "account_id" {
  type        = string
  description = "The account of key and bucket."
}

variable "region" {
  type        = string
  description = "AWS region of key and bucket."
}

variable "partition" {
  type        = string
  description = "AWS partition, as in ARNs: aws, aws-cn, aws-us-gov."
}
