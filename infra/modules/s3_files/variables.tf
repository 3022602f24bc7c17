variable "name" {
  type        = string
  description = "Name of the file system."
}

variable "bucket_name" {
  type        = string
  description = "Name of the bucket behind it."
}

variable "role_name" {
  type        = string
  description = "Name of the role that keeps both the same, unique in the account."
}

variable "partition" {
  type        = string
  description = "AWS partition, as in ARNs."
}

variable "region" {
  type        = string
  description = "AWS region of the file system."
}

variable "account_id" {
  type        = string
  description = "The account that the file system belongs to."
}

variable "subnet_ids" {
  type        = list(string)
  description = "Subnets with a mount target each, one a zone."
}

variable "security_group_id" {
  type        = string
  description = "Security group of the mount targets."
}
