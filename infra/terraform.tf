terraform {
  # 1.9 is the first release whose variable validations may look at other variables.
  required_version = ">= 1.9"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 6.34, < 7" # 6.34: provisioned pollers for SQS
    }
  }

  # State stays in this folder. To share a deployment, add a backend here; the local run never touches this state,
  # because it works on a copy of the folder.
}
