# Outputs of both copy experiments.

output "destination_bucket_name" {
  description = "Bucket that is copied to."
  value       = local.any_copy ? local.destination_bucket_name : null

  precondition {
    condition     = !local.is_copy || local.bucket_name != local.copies_bucket_name
    error_message = "s3_bucket_name = ${jsonencode(var.s3_bucket_name)}: must not be the bucket that is copied to and emptied; choose another name, or leave it out."
  }
}

output "source_prefix" {
  description = "Prefix of the objects that are copied without a manifest."
  value       = local.any_copy ? local.source_prefix : null
}

output "destination_prefix" {
  description = "What every copy's key begins with; empty for none."
  value       = local.any_copy ? local.destination_prefix : null
}

output "from_manifest" {
  description = "Whether the copies are listed in a manifest."
  value       = local.any_copy ? local.from_manifest : null
}

output "key_plan" {
  description = "What a manifest is made from, and in listing mode the objects below source_prefix."
  value       = local.any_copy ? local.key_plan : null
}

output "object_count" {
  description = "Objects to copy; records are checked against it."
  value       = local.any_copy ? local.key_plan.objects : null
}

output "key_order" {
  description = "Order of the parts of a copy's key; records are checked against it."
  value       = local.any_copy ? local.key_plan.key_order : null
}
