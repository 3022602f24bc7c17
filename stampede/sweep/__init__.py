"""One run from end to end: its stack, its cells in their order, and the report's input."""
