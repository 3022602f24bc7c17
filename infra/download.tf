# The download experiment: a queue floods N functions, and each of them downloads the same object.

locals {
  is_download = var.experiment == "download"

  is_go = startswith(var.method, "go_")

  # Each method's default sink, as in functions/download/methods.py.
  sink = coalesce(var.sink, endswith(var.method, "stream") ? "discard" : endswith(var.method, "ranges") ? "memory" : "tmp")

  download_in_tmp = { mb = local.sink == "tmp" ? var.object_size_mb : 0, what = "object_size_mb" }

  download = {
    description  = "One timed S3 operation a message, one record a log line."
    program_file = local.is_go ? "${path.root}/../functions/transfer/build/${local.architecture}/bootstrap" : null
    layer_folder = var.method == "crt" ? "${path.root}/../functions/download/build/${local.architecture}" : null
    zip_name     = local.is_go ? "transfer-${local.architecture}" : "download"
    handler      = local.is_go ? "bootstrap" : "download.handler.handler"
    runtime      = local.is_go ? "provided.al2023" : "python3.12"

    statements = concat(
      [{
        Sid      = "ReadTheObject"
        Effect   = "Allow"
        Action   = "s3:GetObject" # also for HeadObject
        Resource = "${local.data_bucket_arn}/${var.s3_file_name}"
      }],
      [for key in var.object_kms_key_arn[*] : {
        Sid       = "DecryptIt"
        Effect    = "Allow"
        Action    = "kms:Decrypt"
        Resource  = key
        Condition = { StringEquals = { "kms:ViaService" = "s3.${var.region}.amazonaws.com" } }
      }],
    )

    environment = {
      FILE_NAME      = var.s3_file_name
      METHOD         = var.method
      SINK           = local.sink
      RANGE_PARALLEL = tostring(var.range_parallel)
      RANGE_PART_MB  = tostring(var.range_part_mb)
      REQUESTER_PAYS = tostring(var.requester_pays)
    }
  }
}
