"""Where the command `stampede` starts."""

from __future__ import annotations

import os
import sys

from stampede.program import NAME


def _reopen_closed_streams() -> None:
    """Lead the standard streams that the shell has closed (`>&-`) nowhere. The next file to be opened would have their
    number otherwise, and take what child processes print."""
    while (opened := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(opened)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


def main() -> int:
    """Run the command line; Ctrl-C while it is still being imported exits with 130, without a traceback."""
    _reopen_closed_streams()
    try:
        from stampede.cli import command_line  # a second, in which Ctrl-C may come

        return command_line.main()
    except KeyboardInterrupt:
        print(f"{NAME}: interrupted", file=sys.stderr)
        return 130
