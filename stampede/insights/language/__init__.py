"""The query language: its grammar, its syntax tree, and error messages for text outside it."""
