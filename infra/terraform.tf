terraform {
  # 1.9 is the first release whose variable validations may refer to other variables.
  required_version = ">= 1.9"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 6.34, < 7" # 6.34: provisioned pollers for SQS
    }
  }

  # The state stays in this folder. To share a deployment, add a backend here. Local runs work on a copy of the folder and never
  # touch this state.
}
