# Variables of both copy experiments: with one Lambda or many (copy), and with hosts (copy_host).

variable "object_count" {
  type        = number
  description = "Objects to copy, 1 to 100000000; null means the published 1000 for copy and 219120 for copy_host."
  default     = null

  validation {
    condition = var.object_count == null ? true : (
      var.object_count >= local.rules.object_count.least && var.object_count <= local.rules.object_count.most &&
      floor(var.object_count) == var.object_count
    )
    error_message = "object_count = ${jsonencode(var.object_count)}: ${local.rules.object_count.rule}."
  }

  # One folder an hour. Invalid dates fail in their own variables; more hours than timeadd can count are too many.
  validation {
    condition = !local.from_manifest || !can(timecmp(local.first_hour, local.last_day)) ? true : try(timecmp(
      timeadd(local.first_hour, "${ceil(coalesce(var.object_count, local.copy_defaults.object_count) / var.objects_per_folder)}h"),
      timeadd(local.last_day, "24h")
    ) <= 0, false)
    error_message = "object_count = ${jsonencode(var.object_count)}: must fit into one folder for each hour from date_from = ${var.date_from} to date_to = ${var.date_to}, and needs ${ceil(coalesce(var.object_count, local.copy_defaults.object_count) / var.objects_per_folder)} hours with objects_per_folder = ${var.objects_per_folder}; choose a later date_to or a larger objects_per_folder; null means ${local.copy_defaults.object_count}."
  }
}

variable "object_bytes" {
  type        = number
  description = "Size of each object in bytes, 1 to 5368709120 (5 GB); null: 20000000 for copy, 1000000 for copy_host."
  default     = null

  # The limit of one CopyObject: AWS's pages say 5 GB, S3's error 5368709120 (S3 User Guide, "Copying, moving, and renaming objects").
  validation {
    condition = var.object_bytes == null ? true : (
      var.object_bytes >= local.rules.object_bytes.least && var.object_bytes <= local.rules.object_bytes.most &&
      floor(var.object_bytes) == var.object_bytes
    )
    error_message = "object_bytes = ${jsonencode(var.object_bytes)}: ${local.rules.object_bytes.rule}; ${local.rules.object_bytes.fix}."
  }
}

variable "from_manifest" {
  type        = bool
  description = "Whether functions share a manifest's slices; false: one lists, empties and copies all. Hosts always share."
  default     = false
  nullable    = false

  validation {
    condition     = !var.from_manifest || contains(["copy", "copy_host"], var.experiment)
    error_message = "from_manifest = ${var.from_manifest}: needs experiment = copy or copy_host."
  }
}

variable "date_from" {
  type        = string
  description = "First day of a manifest's folders /year/month/day/hour/, such as 2015-01-01."
  default     = "2015-01-01"
  nullable    = false

  validation {
    condition     = can(regex(local.rules.date_from.matches, var.date_from)) && can(timeadd("${var.date_from}T00:00:00Z", "0s"))
    error_message = "date_from = ${jsonencode(var.date_from)}: ${local.rules.date_from.rule}."
  }
}

variable "date_to" {
  type        = string
  description = "Last day of those folders, inclusive, such as 2019-12-31."
  default     = "2019-12-31"
  nullable    = false

  validation {
    condition     = can(regex(local.rules.date_to.matches, var.date_to)) && can(timeadd("${var.date_to}T00:00:00Z", "0s"))
    error_message = "date_to = ${jsonencode(var.date_to)}: ${local.rules.date_to.rule}."
  }

  validation {
    condition     = try(timecmp("${var.date_to}T00:00:00Z", "${var.date_from}T00:00:00Z") >= 0, true)
    error_message = "date_to = ${jsonencode(var.date_to)}: must not be before date_from = ${var.date_from}."
  }
}

variable "objects_per_folder" {
  type        = number
  description = "Objects in each folder of a manifest, that is in each hour, 1 to 1000000."
  default     = 5
  nullable    = false

  validation {
    condition = (
      var.objects_per_folder >= local.rules.objects_per_folder.least && var.objects_per_folder <= local.rules.objects_per_folder.most &&
      floor(var.objects_per_folder) == var.objects_per_folder
    )
    error_message = "objects_per_folder = ${var.objects_per_folder}: ${local.rules.objects_per_folder.rule}."
  }
}

variable "key_order" {
  type        = string
  description = "How keys of a manifest begin: straight (year/month/...) or reversed_hash (hash/hour/...), which spreads them."
  default     = "straight"
  nullable    = false

  validation {
    condition     = contains(local.rules.key_order.choices, var.key_order)
    error_message = "key_order = ${jsonencode(var.key_order)}: ${local.rules.key_order.rule}."
  }
}

variable "masters" {
  type        = number
  description = "Source objects to upload, 1 to 1000, each below a random prefix; a manifest copies them in turn."
  default     = 1
  nullable    = false

  validation {
    condition = (
      var.masters >= local.rules.masters.least && var.masters <= local.rules.masters.most &&
      floor(var.masters) == var.masters
    )
    error_message = "masters = ${var.masters}: ${local.rules.masters.rule}."
  }
}

variable "slice_rows" {
  type        = number
  description = "Objects in a slice of a manifest, 1 to 100000; null: 1000 for copy, 10000 for copy_host."
  default     = null

  validation {
    condition = var.slice_rows == null ? true : (
      var.slice_rows >= local.rules.slice_rows.least && var.slice_rows <= local.rules.slice_rows.most &&
      floor(var.slice_rows) == var.slice_rows
    )
    error_message = "slice_rows = ${jsonencode(var.slice_rows)}: ${local.rules.slice_rows.rule}."
  }
}

variable "data_seed" {
  type        = number
  description = "Seed of contents, random prefixes and hashes, 0 to 4294967295: the same seed gives the same data."
  default     = 1
  nullable    = false

  validation {
    condition = (
      var.data_seed >= local.rules.data_seed.least && var.data_seed <= local.rules.data_seed.most &&
      floor(var.data_seed) == var.data_seed
    )
    error_message = "data_seed = ${var.data_seed}: ${local.rules.data_seed.rule}."
  }
}
