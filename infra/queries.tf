# Every saved query of the experiment and those that it shares, ready in the console under Logs Insights, bound to the
# experiment's log group. copy_host shares those of copy, as its name says; its own of the same name stands in their
# place.

locals {
  saved_queries = merge([
    for folder in ["common", split("_", var.experiment)[0], var.experiment] : {
      for name in fileset("${path.root}/../queries/${folder}", "*.cwli") : name => "${path.root}/../queries/${folder}/${name}"
    }
  ]...)
}

resource "aws_cloudwatch_query_definition" "saved" {
  for_each = local.saved_queries

  name            = "${var.prefix}/${var.experiment}/${trimsuffix(each.key, ".cwli")}"
  query_string    = file(each.value)
  log_group_names = [local.log_group_name]
}

# Those about S3's server access logs, where there are any: bound to their log group.
resource "aws_cloudwatch_query_definition" "access_log" {
  for_each = { for file in fileset("${path.root}/../queries/access_log", "*.cwli") : trimsuffix(file, ".cwli") => file if local.with_access_log }

  name            = "${var.prefix}/${var.experiment}/${each.key}"
  query_string    = file("${path.root}/../queries/access_log/${each.value}")
  log_group_names = module.access_log[*].log_group_name
}
