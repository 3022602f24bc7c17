"""What the verbs of the command line take: one verb a file, which imports nothing that takes long.

Each has DESCRIPTION, EXAMPLES as (command, what it does), and `add_arguments`; the verb's work is in `cli.verbs`.
"""
