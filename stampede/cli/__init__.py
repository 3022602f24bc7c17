"""The command line: a verb is a file of `verbs`, with its options and what it does."""
