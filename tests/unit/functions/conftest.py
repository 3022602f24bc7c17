"""The sandbox fixtures for all tests of functions, and the S3 and SQS that they run against.

What is common to all functions is tested through the download's sandbox where it can be.
"""

from tests.unit.functions.sandbox_fixtures import sandbox, sandbox_environment, start_s3
from tests.unit.functions.visibility_stub import sqs

__all__ = ["sandbox", "sandbox_environment", "sqs", "start_s3"]
