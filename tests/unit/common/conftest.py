"""The download's sandbox fixtures: what is common to all functions is tested through one of them where it can be."""

import sys
from pathlib import Path

# By hand: pytest adds a folder only once it has collected a test there.
_UNIT = Path(__file__).parents[1]
sys.path[:0] = [str(_UNIT / "download"), str(_UNIT.parent / "faults")]

from sandbox_fixtures import sandbox, sandbox_environment, start_s3  # noqa: E402
from visibility_stub import sqs  # noqa: E402

__all__ = ["sandbox", "sandbox_environment", "sqs", "start_s3"]
