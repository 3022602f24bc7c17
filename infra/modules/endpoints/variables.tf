variable "name" {
  type        = string
  description = "Name of the network."
}

variable "region" {
  type        = string
  description = "AWS region of the network."
}

variable "vpc_id" {
  type        = string
  description = "The network; its resolver has to give private names."
}

variable "subnet_ids" {
  type        = list(string)
  description = "Subnets in which the endpoints have their addresses."
}

variable "inside_security_group" {
  type = object({
    id       = string
    owner_id = string
  })
  description = "Security group of what works inside: its id and its account."
}

variable "services" {
  type        = set(string)
  description = "Services, as in the last part of an endpoint service's name: sqs, logs."
}
