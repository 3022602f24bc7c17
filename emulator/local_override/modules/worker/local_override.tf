# The embedded AWS keeps an empty scaling_config where AWS drops it, and every later plan would want to take that away.
# So a cap is always set here. 2 is the smallest there is and changes nothing for concurrency_value = 1: the emulator runs
# the smaller of this cap and the reserved concurrency, never more.
resource "aws_lambda_event_source_mapping" "queue" {
  scaling_config {
    maximum_concurrency = var.maximum_concurrency == null ? 2 : var.maximum_concurrency
  }
}
