# What every experiment has. The first four, and s3_file_name in variables_download.tf, carry the names and defaults of the
# published experiment.

variable "s3_bucket_name" {
  type        = string
  description = "Name of the data bucket (the source of a copy); null makes one from prefix, experiment, account and region."
  default     = null

  validation {
    condition = var.s3_bucket_name == null ? true : (
      can(regex("^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$", var.s3_bucket_name)) &&
      !can(regex("\\.\\.|\\.-|-\\.|^[0-9]+(\\.[0-9]+){3}$|^xn--|^sthree-|-s3alias$|--ol-s3$", var.s3_bucket_name))
    )
    error_message = "s3_bucket_name = ${jsonencode(var.s3_bucket_name)}: must be 3 to 63 lower-case letters, digits, hyphens and single dots, begin and end with a letter or digit, not look like an IP address and not use a prefix or suffix that S3 reserves."
  }
}

variable "memory_size" {
  type        = number
  description = "Memory of the function in MB, 128 to 10240; null means 512 for copy and 2048 for the other experiments. A host has that of its instance_type."
  default     = null

  validation {
    condition     = var.memory_size == null ? true : var.memory_size >= 128 && var.memory_size <= 10240 && floor(var.memory_size) == var.memory_size
    error_message = "memory_size = ${jsonencode(var.memory_size)}: must be a whole number of MB from 128 to 10240."
  }

  # The download's rule. It is here because this is the variable to change.
  validation {
    condition = (
      var.experiment != "download" || local.sink != "memory" ||
      coalesce(var.memory_size, local.defaults.memory_size) >= var.object_size_mb + local.other_memory_mb
    )
    error_message = "memory_size = ${jsonencode(var.memory_size)}: must be at least object_size_mb + ${local.other_memory_mb} = ${var.object_size_mb + local.other_memory_mb} with sink = memory (the default of ranges), or the object doesn't fit; choose more, or sink = discard or tmp; null means ${local.defaults.memory_size}."
  }
}

variable "experiment_tag" {
  type        = string
  description = "Label in every record, to tell series of runs apart and to leave debug runs out of queries."
  default     = "experiment 01"
  nullable    = false

  # The saved queries read the tag out of the log line with a regular expression: "experiment_tag": "([^"]*)". A quote or a
  # backslash would end it early, and other than ASCII characters are escaped with backslashes in the line.
  validation {
    condition     = can(regex("^[ !#-\\[\\]-~]{1,256}$", var.experiment_tag))
    error_message = "experiment_tag = ${jsonencode(var.experiment_tag)}: must be 1 to 256 printable ASCII characters without double quotes and backslashes, because the saved queries read it from the log line."
  }
}

variable "concurrency_value" {
  type        = number
  description = "N, 1 to 100000: how many functions may run at once, which is the function's reserved concurrency and comes out of the account's; with copy_host, how many hosts work."
  default     = 1
  nullable    = false

  validation {
    condition     = var.concurrency_value >= 1 && var.concurrency_value <= 100000 && floor(var.concurrency_value) == var.concurrency_value
    error_message = "concurrency_value = ${var.concurrency_value}: must be a whole number from 1 to 100000."
  }

  validation {
    condition     = var.concurrency_value <= 1000 || var.provisioned_pollers != null
    error_message = "concurrency_value = ${var.concurrency_value}: above 1000 an SQS trigger needs provisioned pollers; set provisioned_pollers too."
  }

  # Fewer pollers never reach N, and the run would measure something else than it says. The rule stands here and not with
  # provisioned_pollers, because the rules of two variables can't refer to each other.
  validation {
    condition     = var.provisioned_pollers == null ? true : var.provisioned_pollers.maximum * 10 >= var.concurrency_value
    error_message = "concurrency_value = ${var.concurrency_value}: needs provisioned_pollers with a maximum of at least ${ceil(var.concurrency_value / 10)}, because a poller makes at most 10 invocations at once."
  }

  # Each message empties the destination first: of two functions at once, one would delete what the other copies.
  validation {
    condition     = var.experiment != "copy" || var.from_manifest || var.concurrency_value == 1
    error_message = "concurrency_value = ${var.concurrency_value}: must be 1 with experiment = copy, because each of its messages empties the destination and copies everything; set from_manifest = true to share one list among several functions."
  }
}

variable "experiment" {
  type        = string
  description = "Which experiment to deploy: download, filesystem, copy, copy_host or express."
  default     = "download"
  nullable    = false

  validation {
    condition     = contains(["download", "filesystem", "copy", "copy_host", "express"], var.experiment)
    error_message = "experiment = ${jsonencode(var.experiment)}: must be one of: download, filesystem, copy, copy_host, express."
  }
}

variable "region" {
  type        = string
  description = "AWS region of all resources."
  default     = "us-east-1"
  nullable    = false

  validation {
    condition     = can(regex("^[a-z]{2,4}(-[a-z]+){1,2}-[0-9]{1,2}$", var.region))
    error_message = "region = ${jsonencode(var.region)}: must be the code of an AWS region, such as us-east-1."
  }
}

variable "prefix" {
  type        = string
  description = "First part of every name, so that two deployments can share an account; 2 to 20 characters."
  default     = "stampede"
  nullable    = false

  # 20 characters leave room for experiment, account and region within the 63 of a bucket name.
  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{0,18}[a-z0-9]$", var.prefix)) && !can(regex("^xn--|^sthree-", var.prefix))
    error_message = "prefix = ${jsonencode(var.prefix)}: must be 2 to 20 lower-case letters, digits and hyphens, begin with a letter, not end with a hyphen and not begin with xn-- or sthree-."
  }
}

variable "timeout_s" {
  type        = number
  description = "Longest duration of one invocation in seconds, 1 to 900; null means 60 for download and filesystem, 900 for copy, copy_host and express. A host's work has no such limit: while it runs, the host hides its message for another 60 s at a time, for at most 12 hours."
  default     = null

  validation {
    condition     = var.timeout_s == null ? true : var.timeout_s >= 1 && var.timeout_s <= 900 && floor(var.timeout_s) == var.timeout_s
    error_message = "timeout_s = ${jsonencode(var.timeout_s)}: must be a whole number of seconds from 1 to 900."
  }
}

variable "visibility_timeout_s" {
  type        = number
  description = "How long a received message stays hidden, in seconds, at least 6 x timeout_s and at most 43200; null means 6 x timeout_s. A host sets its own, 60 s at a time."
  default     = null

  # AWS asks for at least six function timeouts, so that the trigger can retry while the function is throttled.
  validation {
    condition = var.visibility_timeout_s == null ? true : (
      var.visibility_timeout_s >= 6 * local.timeout_s && var.visibility_timeout_s <= 43200 && floor(var.visibility_timeout_s) == var.visibility_timeout_s
    )
    error_message = "visibility_timeout_s = ${coalesce(var.visibility_timeout_s, 0)}: must be a whole number of seconds from 6 x timeout_s = ${6 * local.timeout_s} to 43200."
  }
}

variable "maximum_concurrency" {
  type        = number
  description = "The trigger's own cap on concurrent invocations, 2 to 1000; null means concurrency_value, but at least 2, and no cap with provisioned_pollers."
  default     = null

  validation {
    condition = var.maximum_concurrency == null ? true : (
      var.maximum_concurrency >= 2 && var.maximum_concurrency <= 1000 && floor(var.maximum_concurrency) == var.maximum_concurrency
    )
    error_message = "maximum_concurrency = ${coalesce(var.maximum_concurrency, 0)}: must be a whole number from 2 to 1000; for one function at a time, leave it out and set concurrency_value = 1."
  }

  # Above the reserved concurrency the surplus would only be throttled: Lambda tries such a message again until its visibility
  # timeout is over; then it comes back and counts as received once more (Lambda guide, services-sqs-errorhandling).
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
  description = "Event pollers for a fast ramp-up, billed by the hour, with up to 10 concurrent invocations each. The minimum (2 to 200) is kept ready; up to the maximum (2 to 10000), 1,000 invocations are added a minute. null means the standard ramp-up of 300 a minute. AWS provider 6.34 takes a maximum of 2000 at most."
  default     = null

  validation {
    condition = var.provisioned_pollers == null ? true : (
      var.provisioned_pollers.minimum >= 2 && var.provisioned_pollers.minimum <= 200 && floor(var.provisioned_pollers.minimum) == var.provisioned_pollers.minimum
    )
    error_message = "provisioned_pollers = ${jsonencode(var.provisioned_pollers)}: minimum must be a whole number from 2 to 200."
  }

  # AWS's limit for SQS since August 2026. Providers that still have the earlier one, 2000, say so at `plan`; what a later
  # one takes, it gets.
  validation {
    condition = var.provisioned_pollers == null ? true : (
      var.provisioned_pollers.maximum >= 2 && var.provisioned_pollers.maximum <= 10000 && floor(var.provisioned_pollers.maximum) == var.provisioned_pollers.maximum
    )
    error_message = "provisioned_pollers = ${jsonencode(var.provisioned_pollers)}: maximum must be a whole number from 2 to 10000."
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
    condition     = contains([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653], var.log_retention_days)
    error_message = "log_retention_days = ${var.log_retention_days}: must be one of 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653."
  }
}

variable "server_side_proof" {
  type        = bool
  description = "Whether S3's server access logs of the data buckets go to CloudWatch Logs, where a saved query counts requests and errors as S3 saw them. Billed by the GB; S3 starts 15 to 20 minutes after the apply."
  default     = false
  nullable    = false

  validation {
    condition     = !var.server_side_proof || !can(regex("^(cn|us-gov)-", var.region))
    error_message = "server_side_proof = ${var.server_side_proof}: must be left out in ${var.region}, because S3 in China and GovCloud doesn't deliver server access logs to CloudWatch Logs."
  }
}

variable "architecture" {
  type        = string
  description = "Processor of the function, x86_64 or arm64; null means x86_64 for download and copy, arm64 for filesystem and express. A host has that of its instance_type."
  default     = null

  validation {
    condition     = var.architecture == null ? true : contains(["x86_64", "arm64"], var.architecture)
    error_message = "architecture = ${jsonencode(var.architecture)}: must be x86_64 or arm64."
  }

  validation {
    condition     = var.architecture == null || var.experiment != "copy_host" ? true : var.architecture == local.defaults.architecture
    error_message = "architecture = ${jsonencode(var.architecture)}: must be ${local.defaults.architecture}, the processor of instance_type = ${var.instance_type}; leave it out, or choose another instance_type."
  }
}

variable "ephemeral_storage_mb" {
  type        = number
  description = "Size of the function's /tmp in MB (Lambda's MB are MiB here), 512 to 10240; null means 1200 for download, 1228 for filesystem, 512 for copy and 8192 for express."
  default     = null

  validation {
    condition = var.ephemeral_storage_mb == null ? true : (
      var.ephemeral_storage_mb >= 512 && var.ephemeral_storage_mb <= 10240 && floor(var.ephemeral_storage_mb) == var.ephemeral_storage_mb
    )
    error_message = "ephemeral_storage_mb = ${jsonencode(var.ephemeral_storage_mb)}: must be a whole number of MB from 512 to 10240."
  }

  # 64 MB: room for the file system's own blocks and whatever else the runtime puts there.
  validation {
    condition     = coalesce(var.ephemeral_storage_mb, local.defaults.ephemeral_storage_mb) >= local.in_tmp.mb + 64
    error_message = "ephemeral_storage_mb = ${jsonencode(var.ephemeral_storage_mb)}: must be at least ${local.in_tmp.what} + 64 = ${local.in_tmp.mb + 64}, or it doesn't fit into /tmp; null means ${local.defaults.ephemeral_storage_mb}."
  }
}
