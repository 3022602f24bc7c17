"""The process that holds MiniStack: runs it, and with --follow-parent ends it when the parent is gone.

The parent keeps the write end of this process's standard input open and never writes; the operating system
closes it however the parent ends, kill -9 included. That is why this is a process and not an exit hook.
"""

from __future__ import annotations

import os
import signal
import sys
import threading

from hypercorn.config import Config
from ministack.core.lambda_runtime import Worker

# How long MiniStack waits for a function's log line once the function has answered. Its own 0.05 s are too short on a
# busy machine: a line that comes later is lost with the function's process, and with it the record of a message. All
# our functions log a line for every message, so nothing ever waits this long for nothing.
LOG_LINE_WAIT_S = 5.0

# Connections that wait to be accepted. With the 100 of MiniStack's server, 500 functions that begin at once are turned
# away for as long as a connection may take, several times over (the system's own limit, net.core.somaxconn, stays).
BACKLOG = 2048


def _end_with_parent() -> None:
    os.read(0, 1)  # unbuffered: returns only at end of file
    os.killpg(os.getpgrp(), signal.SIGKILL)


def wait_for_log_lines() -> None:
    """Let MiniStack in this process wait LOG_LINE_WAIT_S seconds for the first log line of an invocation."""
    drain = Worker._drain_stderr_bounded

    def patient_drain(self: Worker, first_line_wait: float = LOG_LINE_WAIT_S) -> str:
        return drain(self, first_line_wait=first_line_wait, hard_cap=LOG_LINE_WAIT_S)

    Worker._drain_stderr_bounded = patient_drain


def keep_connections_waiting() -> None:
    """Let the server of MiniStack in this process hold BACKLOG connections that it hasn't come to yet."""
    Config.backlog = BACKLOG


def main() -> None:
    """Run MiniStack in this process until it is signalled, or until the parent ends with --follow-parent."""
    arguments = sys.argv[1:]
    if "--follow-parent" in arguments:
        threading.Thread(target=_end_with_parent, daemon=True).start()
    wait_for_log_lines()
    keep_connections_waiting()
    sys.argv = ["ministack"]
    from ministack.app import main as run_ministack

    run_ministack()


if __name__ == "__main__":
    main()
