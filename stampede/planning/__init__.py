"""What is known before a run: its cells, what they ask for, what is refused, predicted and paid."""
