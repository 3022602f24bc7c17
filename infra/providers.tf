provider "aws" {
  region = var.region

  default_tags {
    tags = {
      project    = var.prefix
      experiment = var.experiment
      managed_by = "terraform"
    }
  }
}
