"""A query's text: its grammar, its syntax tree, and what is said of text outside of
the language."""
