variable "name" {
  type        = string
  description = "Name of the network."
}

variable "vpc_id" {
  type        = string
  description = "The network."
}

variable "inside_security_group" {
  type = object({
    id       = string
    owner_id = string
  })
  description = "Security group of what works inside: its id and its account."
}
