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
  description = "Private subnets, one a zone."
}

variable "bucket_arns" {
  type        = list(string)
  description = "Buckets that may be read from within the network."
}
