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

variable "kms_key_arn" {
  type        = string
  description = "KMS key that encrypts the bucket; null for S3's own keys."
  default     = null
}

variable "bucket_key" {
  type        = bool
  description = "Whether the bucket has an S3 Bucket Key, so that S3 asks KMS once for many objects and not for each."
  default     = true
}

variable "expire_days" {
  type        = number
  description = "Days after which S3 deletes an object; null keeps it."
  default     = null
}
