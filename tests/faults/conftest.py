"""Makes the sandbox fixtures of the download function available to its fault tests."""

import sys
from pathlib import Path

# Both folders by hand: pytest adds a folder only once it has collected a test there.
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "unit" / "download")]

from sandbox_fixtures import sandbox, sandbox_environment, start_s3  # noqa: E402

__all__ = ["sandbox", "sandbox_environment", "start_s3"]
