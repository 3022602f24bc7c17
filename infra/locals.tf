data "aws_caller_identity" "current" {}

data "aws_partition" "current" {}

locals {
  account_id = data.aws_caller_identity.current.account_id
  partition  = data.aws_partition.current.partition

  # No random part: the same variables always give the same names.
  name        = "${var.prefix}-${var.experiment}"
  bucket_name = coalesce(var.s3_bucket_name, "${local.name}-${local.account_id}-${var.region}")
  # Roles belong to the account, not to a region.
  role_name = "${local.name}-${var.region}"

  visibility_timeout_s = coalesce(var.visibility_timeout_s, 6 * var.timeout_s)
  # AWS asks for at least 5, so that a throttled message doesn't end as a dead letter.
  max_receive_count = 5

  # The trigger's own cap starts at 2. For N = 1 that is one message too many at a time, which the reserved concurrency
  # throttles; without a cap the trigger would begin with five, four of them throttled, and each throttled one counts as
  # received on its way to the dead-letter queue. Provisioned pollers exclude the cap.
  maximum_concurrency = (
    var.provisioned_pollers != null ? null : coalesce(var.maximum_concurrency, max(2, var.concurrency_value))
  )
}
