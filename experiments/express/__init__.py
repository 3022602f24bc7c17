"""S3 Express One Zone beside S3 Standard, for objects of several sizes and for Athena."""
