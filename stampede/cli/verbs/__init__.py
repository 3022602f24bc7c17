"""The verbs, one a file: DESCRIPTION, EXAMPLES as (command, what it does), `add_arguments` and `run`.

What takes long to import, such as boto3 or duckdb, is imported in the functions that need it: `--help` answers at once.
"""
