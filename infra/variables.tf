# Variables of every experiment. The first four, and s3_file_name in variables_download.tf, have the names and defaults of the
# published experiment.

variable "s3_bucket_name" {
  type        = string
  description = "Name of the data bucket (the source of a copy); null makes one from prefix, experiment, account and region."
  default     = null

  validation {
    condition = var.s3_bucket_name == null ? true : (
      can(regex(local.rules.s3_bucket_name.matches, var.s3_bucket_name)) &&
      !can(regex(local.rules.s3_bucket_name.never, var.s3_bucket_name))
    )
    error_message = "s3_bucket_name = ${jsonencode(var.s3_bucket_name)}: ${local.rules.s3_bucket_name.rule}."
  }
}

variable "memory_size" {
  type        = number
  description = "Memory of the function in MB, 128 to 10240; null: 512 for copy, 1024 for function, 2048 elsewhere."
  default     = null

  validation {
    condition = var.memory_size == null ? true : (
      var.memory_size >= local.rules.memory_size.least && var.memory_size <= local.rules.memory_size.most &&
      floor(var.memory_size) == var.memory_size
    )
    error_message = "memory_size = ${jsonencode(var.memory_size)}: ${local.rules.memory_size.rule}."
  }

  # A rule of the download, with room for the runtime and its code. It is here because this is the variable to change.
  validation {
    condition = (
      var.experiment != "download" || local.sink != "memory" ||
      coalesce(var.memory_size, local.defaults.memory_size) >= var.object_size_mb + local.rules.memory_size.shared.beside_object_mb
    )
    error_message = "memory_size = ${jsonencode(var.memory_size)}: must be at least object_size_mb + ${local.rules.memory_size.shared.beside_object_mb} = ${var.object_size_mb + local.rules.memory_size.shared.beside_object_mb} with sink = memory (the default of ranges), or the object doesn't fit; choose more, or sink = discard or tmp; null means ${local.defaults.memory_size}."
  }
}

variable "experiment_tag" {
  type        = string
  description = "Label in every record, to tell series of runs apart and to leave debug runs out of queries."
  default     = "experiment 01"
  nullable    = false

  # The saved queries parse the tag with a regular expression, "experiment_tag": "([^"]*)". A quote or backslash would end it
  # early, and non-ASCII characters are escaped with backslashes in the log line.
  validation {
    condition     = can(regex(local.rules.experiment_tag.matches, var.experiment_tag))
    error_message = "experiment_tag = ${jsonencode(var.experiment_tag)}: ${local.rules.experiment_tag.rule}."
  }
}

variable "concurrency_value" {
  type        = number
  description = "N, 1 to 100000: the function's reserved concurrency, out of the account's; with copy_host, how many hosts."
  default     = 1
  nullable    = false

  validation {
    condition = (
      var.concurrency_value >= local.rules.concurrency_value.least && var.concurrency_value <= local.rules.concurrency_value.most &&
      floor(var.concurrency_value) == var.concurrency_value
    )
    error_message = "concurrency_value = ${var.concurrency_value}: ${local.rules.concurrency_value.rule}."
  }

  validation {
    condition     = var.concurrency_value <= local.rules.concurrency_value.shared.without_pollers || var.provisioned_pollers != null
    error_message = "concurrency_value = ${var.concurrency_value}: above ${local.rules.concurrency_value.shared.without_pollers} an SQS trigger needs provisioned pollers; set provisioned_pollers too."
  }

  # Fewer pollers never reach N, and the run wouldn't measure what it claims. The rule is here and not at provisioned_pollers,
  # because the rules of two variables can't refer to each other.
  validation {
    condition     = var.provisioned_pollers == null ? true : var.provisioned_pollers.maximum * local.rules.concurrency_value.shared.per_poller >= var.concurrency_value
    error_message = "concurrency_value = ${var.concurrency_value}: needs provisioned_pollers with a maximum of at least ${ceil(var.concurrency_value / local.rules.concurrency_value.shared.per_poller)}, because a poller makes at most ${local.rules.concurrency_value.shared.per_poller} invocations at once."
  }

  # Each message empties the destination first: of two functions at once, one would delete the other's copies.
  validation {
    condition     = var.experiment != "copy" || var.from_manifest || var.concurrency_value == 1
    error_message = "concurrency_value = ${var.concurrency_value}: must be 1 with experiment = copy, because each of its messages empties the destination and copies everything; set from_manifest = true to share one list among several functions."
  }
}

variable "experiment" {
  type        = string
  description = "Which experiment to deploy: download, filesystem, copy, copy_host, express or function."
  default     = "download"
  nullable    = false

  validation {
    condition     = contains(local.rules.experiment.choices, var.experiment)
    error_message = "experiment = ${jsonencode(var.experiment)}: ${local.rules.experiment.rule}."
  }
}

variable "region" {
  type        = string
  description = "AWS region of all resources."
  default     = "us-east-1"
  nullable    = false

  validation {
    condition     = can(regex(local.rules.region.matches, var.region))
    error_message = "region = ${jsonencode(var.region)}: ${local.rules.region.rule}."
  }
}

variable "prefix" {
  type        = string
  description = "First part of every name, so that two deployments can share an account; 2 to 20 characters."
  default     = "stampede"
  nullable    = false

  # 20 characters leave room for experiment, account and region within the 63 of a bucket name.
  validation {
    condition     = can(regex(local.rules.prefix.matches, var.prefix)) && !can(regex(local.rules.prefix.never, var.prefix))
    error_message = "prefix = ${jsonencode(var.prefix)}: ${local.rules.prefix.rule}."
  }
}

variable "timeout_s" {
  type        = number
  description = "Longest invocation in seconds, 1 to 900; null: 30 for function, 60 for download and filesystem, else 900."
  default     = null

  validation {
    condition = var.timeout_s == null ? true : (
      var.timeout_s >= local.rules.timeout_s.least && var.timeout_s <= local.rules.timeout_s.most &&
      floor(var.timeout_s) == var.timeout_s
    )
    error_message = "timeout_s = ${jsonencode(var.timeout_s)}: ${local.rules.timeout_s.rule}."
  }
}

variable "visibility_timeout_s" {
  type        = number
  description = "How long a received message stays hidden, in seconds, to 43200; null, and at least: 6 x timeout_s + batching_window_s."
  default     = null

  # AWS asks for at least six function timeouts, so that the trigger can retry while the function is throttled, plus the batching
  # window, in which the trigger holds received messages (Lambda guide, services-sqs-configure).
  validation {
    condition = var.visibility_timeout_s == null ? true : (
      var.visibility_timeout_s >= local.least_visibility_timeout_s &&
      var.visibility_timeout_s <= local.rules.visibility_timeout_s.most &&
      floor(var.visibility_timeout_s) == var.visibility_timeout_s
    )
    error_message = "visibility_timeout_s = ${coalesce(var.visibility_timeout_s, 0)}: must be a whole number of seconds from ${local.rules.visibility_timeout_s.shared.timeouts} x timeout_s + batching_window_s = ${local.least_visibility_timeout_s} to ${local.rules.visibility_timeout_s.most}."
  }
}

variable "maximum_concurrency" {
  type        = number
  description = "The trigger's own cap on invocations at once, 2 to 1000; null: concurrency_value, none with pollers."
  default     = null

  validation {
    condition = var.maximum_concurrency == null ? true : (
      var.maximum_concurrency >= local.rules.maximum_concurrency.least && var.maximum_concurrency <= local.rules.maximum_concurrency.most &&
      floor(var.maximum_concurrency) == var.maximum_concurrency
    )
    error_message = "maximum_concurrency = ${coalesce(var.maximum_concurrency, 0)}: ${local.rules.maximum_concurrency.rule}; ${local.rules.maximum_concurrency.fix}."
  }

  # Above the reserved concurrency, invocations are throttled: Lambda retries a message until its visibility timeout ends; then it
  # comes back and counts as received again (Lambda guide, services-sqs-errorhandling).
  validation {
    condition     = var.maximum_concurrency == null ? true : var.maximum_concurrency <= max(2, var.concurrency_value)
    error_message = "maximum_concurrency = ${coalesce(var.maximum_concurrency, 0)}: must not be above concurrency_value = ${var.concurrency_value}, or above 2 with concurrency_value = 1."
  }

  validation {
    condition     = var.maximum_concurrency == null || var.provisioned_pollers == null
    error_message = "maximum_concurrency = ${coalesce(var.maximum_concurrency, 0)}: must not be combined with provisioned_pollers = ${jsonencode(var.provisioned_pollers)}; set only one of the two."
  }
}

variable "provisioned_pollers" {
  type = object({
    minimum = number
    maximum = number
  })
  description = "Event pollers kept ready (2 to 200) and at most (2 to 10000), 10 invocations each, billed hourly; null: none."
  default     = null

  validation {
    condition = var.provisioned_pollers == null ? true : (
      var.provisioned_pollers.minimum >= local.rules.provisioned_pollers.attributes.minimum.least &&
      var.provisioned_pollers.minimum <= local.rules.provisioned_pollers.attributes.minimum.most &&
      floor(var.provisioned_pollers.minimum) == var.provisioned_pollers.minimum
    )
    error_message = "provisioned_pollers = ${jsonencode(var.provisioned_pollers)}: ${local.rules.provisioned_pollers.attributes.minimum.rule}."
  }

  # AWS's limit for SQS since August 2026. Older providers have the earlier limit of 2000 and say so at `plan`.
  validation {
    condition = var.provisioned_pollers == null ? true : (
      var.provisioned_pollers.maximum >= local.rules.provisioned_pollers.attributes.maximum.least &&
      var.provisioned_pollers.maximum <= local.rules.provisioned_pollers.attributes.maximum.most &&
      floor(var.provisioned_pollers.maximum) == var.provisioned_pollers.maximum
    )
    error_message = "provisioned_pollers = ${jsonencode(var.provisioned_pollers)}: ${local.rules.provisioned_pollers.attributes.maximum.rule}."
  }

  validation {
    condition     = var.provisioned_pollers == null ? true : var.provisioned_pollers.minimum <= var.provisioned_pollers.maximum
    error_message = "provisioned_pollers = ${jsonencode(var.provisioned_pollers)}: minimum must not be above maximum."
  }
}

variable "log_retention_days" {
  type        = number
  description = "Days for which CloudWatch keeps the log lines."
  default     = 7
  nullable    = false

  validation {
    condition     = contains(local.rules.log_retention_days.choices, var.log_retention_days)
    error_message = "log_retention_days = ${var.log_retention_days}: ${local.rules.log_retention_days.rule}."
  }
}

variable "server_side_proof" {
  type        = bool
  description = "Whether S3's server access logs go to CloudWatch Logs, billed by the GB; S3 starts 15 to 20 minutes later."
  default     = false
  nullable    = false

  validation {
    condition     = !var.server_side_proof || !can(regex(local.rules.region.shared.without_access_logs, var.region))
    error_message = "server_side_proof = ${var.server_side_proof}: must be left out in ${var.region}, because S3 in China and GovCloud doesn't deliver server access logs to CloudWatch Logs."
  }
}

variable "architecture" {
  type        = string
  description = "Processor of the function, x86_64 or arm64; null: arm64 for filesystem and express, x86_64 elsewhere."
  default     = null

  validation {
    condition     = var.architecture == null ? true : contains(local.rules.architecture.choices, var.architecture)
    error_message = "architecture = ${jsonencode(var.architecture)}: ${local.rules.architecture.rule}."
  }

  validation {
    condition     = var.architecture == null || var.experiment != "copy_host" ? true : var.architecture == local.host_architecture
    error_message = "architecture = ${jsonencode(var.architecture)}: must be ${local.host_architecture}, the processor of instance_type = ${var.instance_type}; leave it out, or choose another instance_type."
  }
}

variable "ephemeral_storage_mb" {
  type        = number
  description = "Size of /tmp in MB, 512 to 10240; null: 1200 for download, 1228 filesystem, 8192 express, 512 elsewhere."
  default     = null

  validation {
    condition = var.ephemeral_storage_mb == null ? true : (
      var.ephemeral_storage_mb >= local.rules.ephemeral_storage_mb.least && var.ephemeral_storage_mb <= local.rules.ephemeral_storage_mb.most &&
      floor(var.ephemeral_storage_mb) == var.ephemeral_storage_mb
    )
    error_message = "ephemeral_storage_mb = ${jsonencode(var.ephemeral_storage_mb)}: ${local.rules.ephemeral_storage_mb.rule}."
  }

  # 64 MB: room for the file system's blocks and files of the runtime.
  validation {
    condition     = coalesce(var.ephemeral_storage_mb, local.defaults.ephemeral_storage_mb) >= local.in_tmp.mb + local.rules.ephemeral_storage_mb.shared.beside_contents_mb
    error_message = "ephemeral_storage_mb = ${jsonencode(var.ephemeral_storage_mb)}: must be at least ${local.in_tmp.what} + ${local.rules.ephemeral_storage_mb.shared.beside_contents_mb} = ${local.in_tmp.mb + local.rules.ephemeral_storage_mb.shared.beside_contents_mb}, or it doesn't fit into /tmp; null means ${local.defaults.ephemeral_storage_mb}."
  }
}
