variable "name" {
  type        = string
  description = "Name of the file system."
}

variable "throughput_mode" {
  type        = string
  description = "elastic or bursting."
}

variable "subnet_ids" {
  type        = list(string)
  description = "Subnets with a mount target each, one a zone."
}

variable "security_group_id" {
  type        = string
  description = "Security group of the mount targets."
}
