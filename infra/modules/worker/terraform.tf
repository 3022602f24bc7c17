terraform {
  required_version = ">= 1.9"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 6.34, < 7"
    }
    archive = {
      source  = "hashicorp/archive"
      version = ">= 1.3, < 3" # uses only features of both 1.3 and 2.x
    }
  }
}
