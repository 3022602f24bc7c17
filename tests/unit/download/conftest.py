"""Makes the sandbox fixtures, and the faulty S3 that they start, available to the tests of this folder."""

import sys
from pathlib import Path

# Both folders by hand: pytest adds a folder only once it has collected a test there.
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "faults")]

from sandbox_fixtures import sandbox, sandbox_environment, start_s3  # noqa: E402
from visibility_stub import sqs  # noqa: E402

__all__ = ["sandbox", "sandbox_environment", "sqs", "start_s3"]
