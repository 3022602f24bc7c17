"""Saved CloudWatch Logs Insights queries (`<experiment>/<name>.cwli`) and their local evaluator, `insights`."""
