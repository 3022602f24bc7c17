variable "name" {
  type        = string
  description = "Name of the queue; the dead-letter queue's is made from it."
}

variable "arn_prefix" {
  type        = string
  description = "ARN of a queue of this account and region, up to the colon before its name."
}

variable "visibility_timeout_s" {
  type        = number
  description = "How long a received message stays hidden, in seconds."
}

variable "max_receive_count" {
  type        = number
  description = "Deliveries of a message before it becomes a dead letter."

  validation {
    condition     = var.max_receive_count >= 5 && var.max_receive_count <= 1000
    error_message = "max_receive_count = ${var.max_receive_count}: must be from 5, AWS's advice for a queue that triggers a function, to 1000."
  }
}
