# Outputs of the function experiment alone.

output "package" {
  description = "Name of the folder or file with the function's code."
  value       = local.is_function ? basename(var.package) : null
}

output "handler" {
  description = "The function's entry point."
  value       = local.is_function ? var.handler : null
}

output "runtime" {
  description = "Runtime of the function."
  value       = local.is_function ? var.runtime : null
}

output "batch_size" {
  description = "Messages that one invocation gets at most."
  value       = local.is_function ? var.batch_size : null
}

output "batching_window_s" {
  description = "Seconds that the trigger gathers messages for a batch."
  value       = local.is_function ? var.batching_window_s : null
}
