"""Objects copied within S3 by Lambdas."""
