"""The loader: the data set, the flood, the drain, and queries that Athena runs instead of
functions."""
