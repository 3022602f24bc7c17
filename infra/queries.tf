# Every saved query of the experiment, ready in the console under Logs Insights, bound to the function's log group.
resource "aws_cloudwatch_query_definition" "saved" {
  for_each = fileset("${path.root}/../queries/${var.experiment}", "*.cwli")

  name            = "${var.prefix}/${var.experiment}/${trimsuffix(each.key, ".cwli")}"
  query_string    = file("${path.root}/../queries/${var.experiment}/${each.key}")
  log_group_names = [module.worker.log_group_name]
}
