"""The same files, from S3 and from a mounted file system."""
