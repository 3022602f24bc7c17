"""The commands: each compiles to stages of SQL over the events."""
