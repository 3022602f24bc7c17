variable "name" {
  type        = string
  description = "Name of the network."
}

variable "region" {
  type        = string
  description = "AWS region of the network."
}

variable "subnet_count" {
  type        = number
  description = "How many of the zones' subnets are used, where it doesn't matter which."
  default     = 1
}

variable "inside" {
  type = object({
    name        = string
    description = string
  })
  description = "What works in the network: the last part of its security group's name, and what the console says of that."
}

variable "bucket_arns" {
  type        = list(string)
  description = "Buckets that can be reached from within the network."
}

variable "s3_actions" {
  type        = list(string)
  description = "What can be asked of those buckets from within, whatever else a role allows."
}

variable "directory_bucket_arns" {
  type        = list(string)
  description = "Directory buckets that can be reached from within the network, by sessions that a role allows."
  default     = []
}
