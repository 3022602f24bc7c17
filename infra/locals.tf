data "aws_caller_identity" "current" {}

data "aws_partition" "current" {}

locals {
  account_id = data.aws_caller_identity.current.account_id
  partition  = data.aws_partition.current.partition

  # No random part: the same variables always give the same names.
  name        = "${var.prefix}-${replace(var.experiment, "_", "-")}" # bucket names have no underscores
  bucket_name = coalesce(var.s3_bucket_name, "${local.name}-${local.account_id}-${var.region}")
  # Stampede's bucket once its settings are in place, or the user's, of which one object is read. Apart from the ARN, which waits for
  # no resource: data sources that depend on one are read at the apply, and not in the plan.
  data_bucket_name = var.existing_bucket ? local.bucket_name : one(module.bucket[*].name)
  data_bucket_arn  = "arn:${local.partition}:s3:::${local.bucket_name}"
  # Roles belong to the account, not to a region.
  role_name = "${local.name}-${var.region}"

  # The meaning of null, by experiment, also for Python. A host's memory and time limit only affect the queue's timeouts.
  all_defaults = jsondecode(file("${path.module}/defaults.json"))
  defaults     = local.all_defaults[var.experiment]

  # The deployed experiment's function, and its most data in /tmp.
  in_tmp = {
    download   = local.download_in_tmp
    filesystem = local.filesystem_in_tmp
    copy       = local.copy_in_tmp
    copy_host  = local.copy_in_tmp
    express    = local.express_in_tmp
    function   = local.function_in_tmp
  }[var.experiment]
  # Defaults of settings that few functions have: a layer, a network, a file system.
  function = merge({ layer_folder = null, network = null, in_network = false, file_system = null }, {
    download   = local.download
    filesystem = local.filesystem
    copy       = local.copy
    copy_host  = null # hosts receive the messages
    express    = local.express
    function   = local.user_function
  }[var.experiment])

  # The rules of variables: variables_<experiment>.tf uses rules_<experiment>.json. Python's checks read them, too.
  rules = merge([for name in fileset(path.module, "rules*.json") : jsondecode(file("${path.module}/${name}"))]...)

  memory_size          = coalesce(var.memory_size, local.defaults.memory_size)
  timeout_s            = coalesce(var.timeout_s, local.defaults.timeout_s)
  architecture         = local.is_copy_host ? local.host_architecture : coalesce(var.architecture, local.defaults.architecture)
  ephemeral_storage_mb = coalesce(var.ephemeral_storage_mb, local.defaults.ephemeral_storage_mb)
  source_folders       = [for name in ["common", var.experiment] : "${path.root}/../functions/${name}"]

  least_visibility_timeout_s = local.rules.visibility_timeout_s.shared.timeouts * local.timeout_s + var.batching_window_s
  visibility_timeout_s       = coalesce(var.visibility_timeout_s, local.least_visibility_timeout_s)
  # AWS asks for at least 5: a message that stays throttled for its whole visibility timeout counts as received.
  max_receive_count = 5

  # The log group of the function or of the hosts.
  log_group_name = one(concat(module.worker[*].log_group_name, module.host[*].log_group_name))

  # Whether S3's server access logs are delivered.
  with_access_log = var.server_side_proof

  # The trigger's own limit starts at 2. For N = 1 that is one message too many, which the reserved concurrency throttles. Without
  # a limit the trigger would start with five, four of them throttled, and a throttled message counts as received on its way to
  # the dead-letter queue. Provisioned pollers exclude the limit.
  maximum_concurrency = (
    local.is_copy_host || var.provisioned_pollers != null ? null : coalesce(var.maximum_concurrency, max(2, var.concurrency_value))
  )
}
