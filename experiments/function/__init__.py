"""N Lambdas run the user's own handler at once."""
