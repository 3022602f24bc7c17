# The experiment's saved queries and the shared ones, in the console under Logs Insights, bound to the experiment's log group.
# copy_host also has copy's queries, unless it has a query of the same name.

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

# Queries of S3's server access logs, if enabled, bound to their log group.
resource "aws_cloudwatch_query_definition" "access_log" {
  for_each = { for file in fileset("${path.root}/../queries/access_log", "*.cwli") : trimsuffix(file, ".cwli") => file if local.with_access_log }

  name            = "${var.prefix}/${var.experiment}/${each.key}"
  query_string    = file("${path.root}/../queries/access_log/${each.value}")
  log_group_names = module.access_log[*].log_group_name
}
