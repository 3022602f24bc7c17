# Every saved query of the experiment and those that all share, ready in the console under Logs Insights, bound to the
# experiment's log group.

locals {
  saved_queries = merge([
    for folder in ["common", var.experiment] : {
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
