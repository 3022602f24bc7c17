"""The entry point of the command `stampede`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from stampede import standard_streams
from stampede.interruption import signals
from stampede.program import NAME

LOOPBACK = ("127.0.0.1", "localhost")


def ask_loopback_directly() -> None:
    """Exempt loopback from the proxies in the environment, for this process and its children. A
    proxy can't reach the embedded AWS, and neither Python nor botocore exempts loopback."""
    # Without a proxy these variables stay unset: on macOS they would replace the system's settings.
    if not any(name.lower() in ("http_proxy", "https_proxy", "all_proxy") for name in os.environ):
        return
    excepted = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    # "*" already exempts every host; Python doesn't understand it within a list.
    if excepted.strip() != "*":
        excepted = ",".join(filter(None, [excepted, *LOOPBACK]))
    os.environ["no_proxy"] = os.environ["NO_PROXY"] = excepted


def main() -> int:
    """Run the command line. An interruption during the imports ends it without a traceback."""
    standard_streams.prepare()
    ask_loopback_directly()
    signals.listen()
    try:
        Path.cwd()
    except FileNotFoundError:
        print(f"{NAME}: the current folder was removed; change to one that exists", file=sys.stderr)
        return 2
    try:
        from stampede.cli import command_line  # takes a second, in which Ctrl-C may come

        return command_line.main()
    except KeyboardInterrupt:
        print(f"{NAME}: {signals.words}", file=sys.stderr)
        return signals.exit_status
