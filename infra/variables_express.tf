# What the storage class experiment alone has.

variable "operation" {
  type        = string
  description = "What is measured: upload or download (by the function, which may do only that), count or aggregate (by Athena)."
  default     = "upload"
  nullable    = false

  validation {
    condition     = contains(["upload", "download", "count", "aggregate"], var.operation)
    error_message = "operation = ${jsonencode(var.operation)}: must be one of: upload, download, count, aggregate."
  }
}

variable "placement" {
  type        = string
  description = "Where the function runs: any_zone (outside a VPC, in a zone that Lambda chooses) or same_zone (in a subnet in the directory bucket's zone)."
  default     = "any_zone"
  nullable    = false

  validation {
    condition     = contains(["any_zone", "same_zone"], var.placement)
    error_message = "placement = ${jsonencode(var.placement)}: must be any_zone or same_zone."
  }
}

variable "zone_id" {
  type        = string
  description = "Id of the directory bucket's zone, such as use1-az4, which is the same place in every account; null means the region's first zone with S3 Express One Zone."
  default     = null

  validation {
    condition     = var.zone_id == null ? true : can(regex("^[a-z]+[0-9]+-az[0-9]+$", var.zone_id))
    error_message = "zone_id = ${jsonencode(var.zone_id)}: must be the id of a zone, such as use1-az4. A name such as us-east-1a is another zone in another account."
  }

  # Also what null means: a region may have none.
  validation {
    condition     = var.experiment != "express" || contains(local.zones_of_the_region, coalesce(var.zone_id, local.first_zone_id))
    error_message = "zone_id = ${jsonencode(var.zone_id)}: must be one of the zones of ${var.region} with S3 Express One Zone: ${coalesce(join(", ", local.zones_of_the_region), "there are none, choose another region")}; add a newer zone to infra/express_zones.json."
  }
}

variable "express_bucket_name" {
  type        = string
  description = "Name of the directory bucket, which ends in --ZONE_ID--x-s3; null makes one from prefix, experiment, account and zone."
  default     = null

  # S3 User Guide, "Directory bucket naming rules".
  validation {
    condition = var.express_bucket_name == null ? true : (
      can(regex("^[a-z0-9]([a-z0-9-]*[a-z0-9])?--[a-z0-9-]+--x-s3$", var.express_bucket_name)) && length(var.express_bucket_name) <= 63
    )
    error_message = "express_bucket_name = ${jsonencode(var.express_bucket_name)}: must be at most 63 lower-case letters, digits and hyphens, begin with a letter or digit, and end in the zone's suffix, such as --use1-az4--x-s3; the name of the S3 Standard bucket is s3_bucket_name."
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

  # 10 MiB is Athena's own least; 10 TiB cost about 50 USD.
  validation {
    condition     = var.scan_limit_mb >= 10 && var.scan_limit_mb <= 10485760 && floor(var.scan_limit_mb) == var.scan_limit_mb
    error_message = "scan_limit_mb = ${var.scan_limit_mb}: must be a whole number of MiB from 10 to 10485760."
  }
}

variable "query_limit_s" {
  type        = number
  description = "How long `stampede` waits for one query before it cancels it, in seconds, 1 to 1800."
  default     = 600
  nullable    = false

  # 1800 is what Athena gives a query unless an account has asked for more (Athena User Guide, "Service Quotas").
  validation {
    condition     = var.query_limit_s >= 1 && var.query_limit_s <= 1800 && floor(var.query_limit_s) == var.query_limit_s
    error_message = "query_limit_s = ${var.query_limit_s}: must be a whole number of seconds from 1 to 1800, after which Athena itself cancels a query."
  }
}
