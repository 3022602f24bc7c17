"""The verbs, one a file: its docstring is the help, `add_arguments` declares the options, and `run`
does the work.

What takes long to import, such as boto3 or duckdb, is imported in the functions that need it:
`--help` answers at once.
"""
