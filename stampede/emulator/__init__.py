"""The embedded local AWS, and Terraform providers where the Terraform Registry doesn't answer."""
