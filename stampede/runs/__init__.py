"""The format of `results/<run_id>`: read, written and accounted for."""
