"""The functions of the language, as tables of SQL builders, and those that take Python."""
