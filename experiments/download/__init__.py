"""N Lambdas download one object of S3 at once."""
