"""The language's functions, as tables of SQL builders, and the Python functions behind some
of them."""
