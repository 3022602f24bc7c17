"""The process that holds MiniStack: runs it, and with --follow-parent ends it when the parent is gone.

The parent keeps the write end of this process's standard input open and never writes; the operating system
closes it however the parent ends, kill -9 included. That is why this is a process and not an exit hook.
"""

from __future__ import annotations

import os
import signal
import sys
import threading


def _end_with_parent() -> None:
    os.read(0, 1)  # unbuffered: returns only at end of file
    os.killpg(os.getpgrp(), signal.SIGKILL)


def main() -> None:
    """Run MiniStack in this process until it is signalled, or until the parent ends with --follow-parent."""
    arguments = sys.argv[1:]
    if "--follow-parent" in arguments:
        threading.Thread(target=_end_with_parent, daemon=True).start()
    sys.argv = ["ministack"]
    from ministack.app import main as run_ministack

    run_ministack()


if __name__ == "__main__":
    main()
