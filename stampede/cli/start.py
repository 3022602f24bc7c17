"""Where the command `stampede` starts."""

from __future__ import annotations

import os
import sys

from stampede.interruption import outlive_terminal, signals
from stampede.program import NAME

LOOPBACK = ("127.0.0.1", "localhost")


def _reopen_closed_streams() -> None:
    """Lead the standard streams that the shell has closed (`>&-`) nowhere. The next file to be opened would have their
    number otherwise, and take what child processes print."""
    while (opened := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(opened)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


def ask_loopback_directly() -> None:
    """Except this machine from the proxies that the environment names, for this process and those that it starts. A
    proxy can't reach the embedded AWS, and neither Python nor botocore excepts loopback by itself."""
    # Without a proxy they stay as they are: on macOS one of these variables replaces the system's settings.
    if not any(name.lower() in ("http_proxy", "https_proxy", "all_proxy") for name in os.environ):
        return
    named = {name: os.environ.get(name) for name in ("no_proxy", "NO_PROXY")}
    for name, other in zip(named, reversed(named), strict=True):
        excepted = named[name] or named[other] or ""
        if excepted.strip() != "*":  # nothing goes through a proxy; with others beside it, Python reads no wildcard
            excepted = ",".join(filter(None, [excepted, *LOOPBACK]))
        os.environ[name] = excepted


def main() -> int:
    """Run the command line; what interrupts it while it is still being imported ends it without a traceback."""
    _reopen_closed_streams()
    ask_loopback_directly()
    outlive_terminal()
    signals.listen()
    try:
        from stampede.cli import command_line  # a second, in which Ctrl-C may come

        return command_line.main()
    except KeyboardInterrupt:
        print(f"{NAME}: {signals.words}", file=sys.stderr)
        return signals.exit_status
