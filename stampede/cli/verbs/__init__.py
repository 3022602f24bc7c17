"""The verbs of the command line: one a file, each does its work in `run`. `cli.options` declares what it takes."""
