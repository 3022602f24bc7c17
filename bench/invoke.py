"""One Lambda sandbox as a program, in which a function of ours runs once.

`python -S invoke.py FUNCTIONS EXPERIMENT ORDER RECORD_FILE`; FUNCTIONS is the folder with the packages of a function's
zip. Its settings are the environment, as on Lambda. It ends with status 1 and the error on stderr unless the record
says ok.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import sys
from pathlib import Path

REMAINING_MS = 300_000


class Context:
    """What the function uses of Lambda's context."""

    aws_request_id = "bench"

    def get_remaining_time_in_millis(self) -> int:
        """Enough for any measurement."""
        return REMAINING_MS


def main(functions: str, experiment: str, order: str, record_file: str) -> int:
    """Invoke with one message and keep its record; returns the exit status."""
    sys.path.insert(0, functions)  # before this file's own folder, which has a download.py too
    handler = importlib.import_module(f"{experiment}.handler").handler

    message = {
        "messageId": "bench",
        "body": order,
        "eventSource": "aws:sqs",
        "attributes": {"ApproximateReceiveCount": "1"},
    }
    log = io.StringIO()
    with contextlib.redirect_stdout(log):
        handler({"Records": [message]}, Context())
    record = json.loads(log.getvalue())
    Path(record_file).write_text(log.getvalue())
    if record["status"] != "ok":
        sys.stderr.write(f"{record['error_type']}: {record['error_message']}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
