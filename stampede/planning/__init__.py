"""A run before it starts: its cells, their demand, checks, predictions and cost."""
