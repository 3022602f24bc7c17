"""Objects copied within S3 by hosts."""
