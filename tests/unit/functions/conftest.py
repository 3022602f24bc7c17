"""The sandbox fixtures for all tests of functions, and the SQS that hears of failed messages.

What is common to all functions is tested through the download's sandbox where it can be.
"""

import pytest

from tests.fakes.sqs import FakeSqs
from tests.unit.functions.sandbox_fixtures import (
    go_sandbox,
    sandbox,
    sandbox_environment,
    start_s3,
    transfer_program,
)

__all__ = ["go_sandbox", "sandbox", "sandbox_environment", "start_s3", "transfer_program"]


@pytest.fixture
def sqs(sandbox_environment, monkeypatch):
    """A running SQS that the sandbox's environment names."""
    with FakeSqs() as sqs:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SQS", sqs.url)
        yield sqs
