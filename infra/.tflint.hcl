# `tflint --chdir=infra --recursive --config="$PWD/infra/.tflint.hcl"`. The built-in rules for Terraform, all of them; no plugin to
# download. What the AWS ruleset would check, the provider's own `validate` and checkov check here.
plugin "terraform" {
  enabled = true
  preset  = "all"
}

# The files are named after what they hold: download.tf, role.tf, function.tf.
rule "terraform_standard_module_structure" {
  enabled = false
}
