"""Drives load: the `stampede` command line, one verb a file."""
