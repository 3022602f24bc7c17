"""Where the command `stampede` starts."""

from __future__ import annotations

import os
import sys

from stampede.interruption import outlive_terminal, signals
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
    """Run the command line; what interrupts it while it is still being imported ends it without a traceback."""
    _reopen_closed_streams()
    outlive_terminal()
    signals.listen()
    try:
        from stampede.cli import command_line  # a second, in which Ctrl-C may come

        return command_line.main()
    except KeyboardInterrupt:
        print(f"{NAME}: {signals.words}", file=sys.stderr)
        return signals.exit_status
