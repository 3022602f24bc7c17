"""Log events: the files that hold them, and the fields that are found in them."""
