"""The stack: Terraform, its variables and outputs, and the endpoints at which it is."""
