# `tflint --chdir=infra --recursive --config="$PWD/infra/.tflint.hcl"`. All built-in rules for Terraform, and no plugin to
# download: the provider's own `validate` and checkov replace the AWS ruleset.
plugin "terraform" {
  enabled = true
  preset  = "all"
}

# Files are named after their content: download.tf, role.tf, function.tf.
rule "terraform_standard_module_structure" {
  enabled = false
}
