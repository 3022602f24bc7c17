"""The Go program, built once, as a Lambda sandbox beside the Python one; both against the S3 of `tests/faults`."""

import sys
from pathlib import Path

# By hand: pytest adds a folder only once it has collected a test there.
_HERE = Path(__file__).parent
sys.path[:0] = [str(_HERE), str(_HERE.parent / "download"), str(_HERE.parents[1] / "faults")]

from sandbox_fixtures import sandbox, sandbox_environment, start_s3  # noqa: E402
from transfer_program import go_sandbox, transfer_program  # noqa: E402
from visibility_stub import sqs  # noqa: E402

__all__ = ["go_sandbox", "sandbox", "sandbox_environment", "sqs", "start_s3", "transfer_program"]
