# A workgroup of Athena, and a table for each folder of objects. Queries name the partitions, since crawlers and MSCK REPAIR don't
# support directory buckets (Athena User Guide, "Query S3 Express One Zone data").
resource "aws_athena_workgroup" "this" {
  name          = var.name
  description   = "Queries over the same objects in every storage class."
  force_destroy = true # with its history of queries

  configuration {
    enforce_workgroup_configuration    = true # overrides a query's own settings
    publish_cloudwatch_metrics_enabled = false
    bytes_scanned_cutoff_per_query     = var.scan_limit_mb * 1048576

    engine_version {
      selected_engine_version = "Athena engine version 3"
    }

    result_configuration {
      output_location       = "s3://${module.results.name}/"
      expected_bucket_owner = var.account_id

      encryption_configuration {
        encryption_option = "SSE_S3"
      }
    }
  }
}

# Athena's results and their metadata, read once and within seconds.
module "results" {
  source = "../bucket"

  name        = var.results_bucket_name
  partition   = var.partition
  expire_days = 1
}

resource "aws_glue_catalog_database" "this" {
  name        = var.database_name
  description = "Tables of the workgroup ${var.name}."
}

resource "aws_glue_catalog_table" "objects" {
  for_each = var.tables

  name          = each.key
  database_name = aws_glue_catalog_database.this.name
  description   = "Objects of JSON lines below ${each.value}."
  table_type    = "EXTERNAL_TABLE"

  # Injected: a query names the partition, which gives the folder's name, as in object_bytes=10000/ (Athena User Guide,
  # "Supported types for partition projection").
  parameters = merge(
    { EXTERNAL = "TRUE", classification = "json", "projection.enabled" = "true" },
    { for name in var.partition_keys : "projection.${name}.type" => "injected" },
  )

  dynamic "partition_keys" {
    for_each = var.partition_keys

    content {
      name = partition_keys.value
      type = "string" # injected partitions must be strings
    }
  }

  storage_descriptor {
    location      = each.value
    input_format  = "org.apache.hadoop.mapred.TextInputFormat"
    output_format = "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat"

    ser_de_info {
      name                  = "json"
      serialization_library = "org.openx.data.jsonserde.JsonSerDe"
    }

    dynamic "columns" {
      for_each = var.columns

      content {
        name = columns.value.name
        type = columns.value.type
      }
    }
  }
}
