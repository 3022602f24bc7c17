"""The verbs of the command line: one a file, each with its options in `add_arguments` and its work in `run`."""
