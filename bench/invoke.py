"""One Lambda sandbox as a program: `python -S -P invoke.py FUNCTIONS EXPERIMENT EVENT`.

FUNCTIONS is the folder with the packages of a function's zip. As on Lambda, the environment holds
its settings, and stdout is its log.
"""

from __future__ import annotations

import importlib
import json
import sys

REMAINING_MS = 300_000


class Context:
    """The part of Lambda's context that a function uses."""

    aws_request_id = "bench"

    def get_remaining_time_in_millis(self) -> int:
        """Enough for any measurement."""
        return REMAINING_MS


def main(functions: str, experiment: str, event: str) -> None:
    """Invoke the experiment's handler with one event."""
    sys.path.insert(0, functions)
    importlib.import_module(f"{experiment}.handler").handler(json.loads(event), Context())


if __name__ == "__main__":
    main(*sys.argv[1:])
