"""The role of the function in lines of S3's server access logs."""

ROLE = "stampede-download-us-east-1"
