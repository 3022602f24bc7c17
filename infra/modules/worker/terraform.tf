terraform {
  required_version = ">= 1.9"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 6.34, < 7"
    }
    archive = {
      source  = "hashicorp/archive"
      version = ">= 1.3, < 3" # only what 1.3 and 2.x both have is used
    }
  }
}
