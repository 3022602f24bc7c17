"""Log events: the files that hold them, and the fields discovered in them."""
