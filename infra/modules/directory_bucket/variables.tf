variable "name" {
  type        = string
  description = "Name of the bucket, which ends in --<zone_id>--x-s3."
}

variable "zone_id" {
  type        = string
  description = "Id of the zone that the bucket is in, as in use1-az4."
}

variable "account_id" {
  type        = string
  description = "The account of the bucket."
}

variable "region" {
  type        = string
  description = "AWS region of the bucket."
}

variable "partition" {
  type        = string
  description = "AWS partition, as in ARNs: aws, aws-cn, aws-us-gov."
}
