"""The embedded local AWS, and the Terraform providers for places where the Terraform Registry
doesn't answer."""
