# Variables of the storage class experiment alone.

variable "operation" {
  type        = string
  description = "What is measured: upload or download (by the function, which may do only that), count or aggregate (by Athena)."
  default     = "upload"
  nullable    = false

  validation {
    condition     = contains(local.rules.operation.choices, var.operation)
    error_message = "operation = ${jsonencode(var.operation)}: ${local.rules.operation.rule}."
  }
}

variable "placement" {
  type        = string
  description = "Where the function runs: any_zone (outside a VPC) or same_zone (in the directory bucket's zone)."
  default     = "any_zone"
  nullable    = false

  validation {
    condition     = contains(local.rules.placement.choices, var.placement)
    error_message = "placement = ${jsonencode(var.placement)}: ${local.rules.placement.rule}."
  }
}

variable "zone_id" {
  type        = string
  description = "Id of the directory bucket's zone, such as use1-az4; null: the region's first with S3 Express One Zone."
  default     = null

  validation {
    condition     = var.zone_id == null ? true : can(regex(local.rules.zone_id.matches, var.zone_id))
    error_message = "zone_id = ${jsonencode(var.zone_id)}: ${local.rules.zone_id.rule}."
  }

  # Also for null: a region may have no such zone.
  validation {
    condition     = var.experiment != "express" || contains(local.zones_of_the_region, coalesce(var.zone_id, local.first_zone_id))
    error_message = "zone_id = ${jsonencode(var.zone_id)}: must be one of the zones of ${var.region} with S3 Express One Zone: ${coalesce(join(", ", local.zones_of_the_region), "there are none, choose another region")}; add a newer zone to infra/express_zones.json."
  }
}

variable "express_bucket_name" {
  type        = string
  description = "Name of the directory bucket, ending in --ZONE_ID--x-s3; null: of prefix, experiment, account and zone."
  default     = null

  # S3 User Guide, "Directory bucket naming rules".
  validation {
    condition = var.express_bucket_name == null ? true : (
      can(regex(local.rules.express_bucket_name.matches, var.express_bucket_name)) &&
      length(var.express_bucket_name) <= local.rules.express_bucket_name.longest
    )
    error_message = "express_bucket_name = ${jsonencode(var.express_bucket_name)}: ${local.rules.express_bucket_name.rule}; ${local.rules.express_bucket_name.fix}."
  }

  validation {
    condition     = var.express_bucket_name == null || var.experiment != "express" ? true : endswith(var.express_bucket_name, local.express_suffix)
    error_message = "express_bucket_name = ${jsonencode(var.express_bucket_name)}: must end in ${local.express_suffix}, the suffix of its zone; choose another name or zone_id."
  }
}

variable "scan_limit_mb" {
  type        = number
  description = "The most that one query may scan in MiB, 10 to 10485760; beyond it, Athena cancels the query."
  default     = 20000
  nullable    = false

  # 10 MiB is Athena's minimum; 10 TiB cost about 50 USD.
  validation {
    condition = (
      var.scan_limit_mb >= local.rules.scan_limit_mb.least && var.scan_limit_mb <= local.rules.scan_limit_mb.most &&
      floor(var.scan_limit_mb) == var.scan_limit_mb
    )
    error_message = "scan_limit_mb = ${var.scan_limit_mb}: ${local.rules.scan_limit_mb.rule}."
  }
}

variable "query_limit_s" {
  type        = number
  description = "How long `stampede` waits for one query before it cancels it, in seconds, 1 to 1800."
  default     = 600
  nullable    = false

  # 1800 is Athena's default limit of a query (Athena User Guide, "Service Quotas").
  validation {
    condition = (
      var.query_limit_s >= local.rules.query_limit_s.least && var.query_limit_s <= local.rules.query_limit_s.most &&
      floor(var.query_limit_s) == var.query_limit_s
    )
    error_message = "query_limit_s = ${var.query_limit_s}: ${local.rules.query_limit_s.rule}."
  }
}
