"""The sandbox fixtures for all tests of functions, and the S3 and SQS that they run against.

What is common to all functions is tested through the download's sandbox where it can be.
"""

import pytest

from tests.fakes.sqs import FakeSqs
from tests.unit.functions.sandbox_fixtures import sandbox, sandbox_environment, start_s3

__all__ = ["sandbox", "sandbox_environment", "start_s3"]


@pytest.fixture
def sqs(sandbox_environment, monkeypatch):
    """A running SQS that the sandbox's environment names."""
    with FakeSqs() as sqs:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SQS", sqs.url)
        yield sqs
