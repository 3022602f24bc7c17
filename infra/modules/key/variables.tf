variable "bucket_name" {
  type        = string
  description = "The bucket that the key is for."
}

variable "account_id" {
  type        = string
  description = "The account of key and bucket."
}

variable "deployer_arn" {
  type        = string
  description = "Who manages the key, as STS names the caller: a user, or the session of a role."
}

variable "region" {
  type        = string
  description = "AWS region of key and bucket."
}

variable "partition" {
  type        = string
  description = "AWS partition, as in ARNs: aws, aws-cn, aws-us-gov."
}
