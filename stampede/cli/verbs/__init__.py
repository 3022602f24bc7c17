"""The verbs, one per file. The docstring is the help text, `add_arguments` declares the options,
and `run` does the work.

Slow modules, such as boto3 or duckdb, are imported in the functions that need them, so that
`--help` answers at once.
"""
