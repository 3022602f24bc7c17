variable "name" {
  type        = string
  description = "Name of the hosts."
}

variable "role_name" {
  type        = string
  description = "Name of the hosts' role and instance profile, unique in the account."
}

variable "host_count" {
  type        = number
  description = "Number of hosts."
}

variable "instance_type" {
  type        = string
  description = "EC2 instance type."
}

variable "architecture" {
  type        = string
  description = "x86_64 or arm64, as the type has it."
}

variable "region" {
  type        = string
  description = "AWS region of the hosts."
}

variable "bucket" {
  type = object({
    name = string
    arn  = string
  })
  description = "Bucket that the program is fetched from."
}

variable "program_file" {
  type        = string
  description = "Executable that hosts run, built before."
}

variable "environment" {
  type        = map(string)
  description = "The program's environment variables; no value has a double quote or a backslash."
}

variable "subnet_id" {
  type        = string
  description = "Where the hosts are; S3 and the services that they ask can be reached from there."
}

variable "security_group_id" {
  type        = string
  description = "What the hosts may reach."
}

variable "queue_arn" {
  type        = string
  description = "The queue that they poll."
}

variable "key_arn" {
  type        = string
  description = "KMS key that encrypts the bucket."
}

variable "statements" {
  type        = any
  description = "What a host may do besides its program's, its queue's and its log's: list of IAM policy statements."
}

variable "log_group_name" {
  type        = string
  description = "Name of the log group."
}

variable "log_retention_days" {
  type        = number
  description = "Days that CloudWatch keeps the log lines."
}
