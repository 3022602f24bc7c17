locals {
  # File by file, so that the zip has no compiled files and caches, and its hash depends only on the code. The zip keeps the
  # folders, so that an experiment's file can't replace a common one.
  source_files = merge([
    for folder in var.source_folders : {
      for name in fileset(folder, "*.py") : "${basename(folder)}/${name}" => "${folder}/${name}"
    }
  ]...)
  handler_file = replace(var.handler, "/^(\\w+)\\.(\\w+)\\.\\w+$/", "$1/$2.py")
  is_own_code  = var.program_file == null && var.package == null

  # Of the program and a user's package one is the function, and the other its layer: Lambda looks for a bootstrap in the
  # function's code first. A package that is a zip is deployed byte for byte.
  package_is_zip   = var.package == null ? false : var.package.is_archive
  package_is_layer = var.package == null ? false : var.package.is_layer
  package_code     = local.package_is_zip ? { file = var.package.path, hash = filebase64sha256(var.package.path) } : local.package_zip
  package_zip = one([
    for zip in data.archive_file.package : { file = zip.output_path, hash = zip.output_base64sha256 }
  ])
  own_code = { file = data.archive_file.code.output_path, hash = data.archive_file.code.output_base64sha256 }
  code     = var.package == null || local.package_is_layer ? local.own_code : local.package_code
  layer    = local.package_is_layer ? local.package_code : local.own_code
}

data "archive_file" "code" {
  type        = "zip"
  output_path = var.zip_file
  source_file = var.program_file

  dynamic "source" {
    for_each = local.is_own_code ? local.source_files : {}

    content {
      filename = source.key
      content  = file(source.value)
    }
  }

  lifecycle {
    precondition {
      condition     = var.program_file == null ? true : fileexists(var.program_file)
      error_message = "program_file = ${coalesce(var.program_file, "null")}: must be built before; run `make functions`."
    }

    precondition {
      condition     = !local.is_own_code || contains(keys(local.source_files), local.handler_file)
      error_message = "source_folders = ${join(", ", var.source_folders)}: must hold ${local.handler_file}, the handler's file."
    }
  }
}

data "archive_file" "package" {
  count = var.package == null || local.package_is_zip ? 0 : 1

  type        = "zip"
  source_dir  = "${var.package.path}/" # the slash makes links to a folder work
  output_path = "${trimsuffix(var.zip_file, ".zip")}-package.zip"
}

resource "aws_lambda_layer_version" "beside_package" {
  count = var.package == null ? 0 : 1

  layer_name               = "${var.name}-${local.package_is_layer ? "package" : "proxy"}"
  description              = local.package_is_layer ? "What the function ${var.name} runs and measures." : "Measures the function ${var.name}."
  filename                 = local.layer.file
  source_code_hash         = local.layer.hash
  compatible_runtimes      = [var.runtime]
  compatible_architectures = [var.architecture]
}

# Packages that the runtime lacks, as a layer: they hold compiled files, and the `source` blocks above only text.
data "archive_file" "layer" {
  count = var.layer_folder == null ? 0 : 1

  type        = "zip"
  source_dir  = var.layer_folder
  output_path = "${trimsuffix(var.zip_file, ".zip")}-layer.zip"

  lifecycle {
    precondition {
      condition     = length(fileset(coalesce(var.layer_folder, "."), "python/*/__init__.py")) > 0
      error_message = "layer_folder = ${coalesce(var.layer_folder, "null")}: must be built before; run `make functions`."
    }
  }
}

resource "aws_lambda_layer_version" "packages" {
  count = var.layer_folder == null ? 0 : 1

  layer_name               = var.name
  description              = "Packages of the function ${var.name}."
  filename                 = data.archive_file.layer[0].output_path
  source_code_hash         = data.archive_file.layer[0].output_base64sha256
  compatible_runtimes      = [var.runtime]
  compatible_architectures = [var.architecture]
}

resource "aws_lambda_function" "worker" {
  #checkov:skip=CKV_AWS_116:The queue has the dead-letter queue; this one would be for asynchronous invocations, of which there are none.
  #checkov:skip=CKV_AWS_117:In a VPC where the experiment says so; elsewhere a VPC would limit the bandwidth that is measured.
  #checkov:skip=CKV_AWS_272:The zip is made from this folder at every apply; there is no one else to sign it.
  #checkov:skip=CKV_AWS_173:The variables are names and sizes, no secrets, and AWS encrypts them with its own key.
  #checkov:skip=CKV_AWS_50:Tracing would add its own time to what is measured; the records say more.
  function_name = var.name
  description   = var.description
  role          = aws_iam_role.worker.arn

  filename         = local.code.file
  source_code_hash = local.code.hash
  handler          = var.handler
  runtime          = var.runtime
  architectures    = [var.architecture]
  layers           = concat(aws_lambda_layer_version.packages[*].arn, var.layers, aws_lambda_layer_version.beside_package[*].arn)

  memory_size                    = var.memory_size_mb
  timeout                        = var.timeout_s
  reserved_concurrent_executions = var.reserved_concurrency

  ephemeral_storage {
    size = var.ephemeral_storage_mb
  }

  environment {
    variables = var.environment
  }

  dynamic "vpc_config" {
    for_each = [for network in var.network[*] : network if var.in_network]

    content {
      subnet_ids         = vpc_config.value.subnet_ids
      security_group_ids = vpc_config.value.security_group_ids
    }
  }

  dynamic "file_system_config" {
    for_each = var.file_system[*]

    content {
      arn              = file_system_config.value.access_point_arn
      local_mount_path = file_system_config.value.mount_path
    }
  }

  # Text keeps printed lines as they are for the saved queries.
  logging_config {
    log_format = "Text"
    log_group  = aws_cloudwatch_log_group.worker.name
  }

  # So that the first invocation has its permissions.
  depends_on = [aws_iam_role_policy.worker]
}

resource "aws_lambda_event_source_mapping" "queue" {
  count = var.trigger == null ? 0 : 1

  event_source_arn = var.trigger.queue_arn
  function_name    = aws_lambda_function.worker.arn

  # One message, one invocation, one measurement, unless a user's function takes batches; a failed message comes back alone.
  batch_size                         = var.trigger.batch_size
  maximum_batching_window_in_seconds = var.trigger.batching_window_s
  function_response_types            = ["ReportBatchItemFailures"]

  dynamic "scaling_config" {
    for_each = var.trigger.maximum_concurrency[*]

    content {
      maximum_concurrency = scaling_config.value
    }
  }

  dynamic "provisioned_poller_config" {
    for_each = var.trigger.provisioned_pollers[*]

    content {
      minimum_pollers = provisioned_poller_config.value.minimum
      maximum_pollers = provisioned_poller_config.value.maximum
    }
  }

  # Lambda checks at creation that the role may read the queue, and `destroy` deletes the trigger before the permissions.
  depends_on = [aws_iam_role_policy.worker]
}
