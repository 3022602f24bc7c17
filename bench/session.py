"""What is around every measuring command: it stays on loopback, ends in order, and says an error in one line."""

from __future__ import annotations

import argparse
import os
import signal
from collections.abc import Callable, Collection
from pathlib import Path

from bench.errors import BenchError
from stampede.errors import RunError, UsageError
from stampede.progress import say

DEFAULT_RUNS = 5


def guarded(measure: Callable[[], None]) -> int:
    """Call `measure` without this shell's AWS account and proxies; returns the exit status: 0, 1 (failed) or 130."""
    stay_on_loopback()
    signal.signal(signal.SIGTERM, _leave)  # so that the servers are stopped then, too
    try:
        measure()
    except (BenchError, RunError, UsageError) as error:
        say(f"bench: {error}", style="red")
        return 1
    except KeyboardInterrupt:
        say("bench: interrupted; the servers are stopped and finished results are kept")
        return 130
    return 0


def parser(program: str, description: str, names: Collection[str], what: str, output: Path) -> argparse.ArgumentParser:
    """The options: which of `names` (each a `what`: entry or table) to measure, how often, and where to keep it."""
    made = argparse.ArgumentParser(prog=program, description=description, allow_abbrev=False)
    made.add_argument(
        "--only",
        metavar=what.upper(),
        action="append",
        choices=names,
        default=[],
        help=f"measure only this {what}; may be repeated (default: all: {', '.join(names)})",
    )
    made.add_argument(
        "--runs", metavar="N", type=_runs, default=DEFAULT_RUNS, help="runs of each side (default: %(default)s)"
    )
    made.add_argument(
        "--output",
        metavar="FILE",
        type=Path,
        default=output,
        help="the JSON list to write the results into (default: %(default)s)",
    )
    return made


def _runs(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 100:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of runs; use a whole number from 1 to 100")
    return int(text)


def stay_on_loopback() -> None:
    """Leave this shell's AWS account and proxies out: every server of a measurement is on 127.0.0.1."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        del os.environ[name]
    os.environ["AWS_CONFIG_FILE"] = os.environ["AWS_SHARED_CREDENTIALS_FILE"] = os.devnull
    for name in ("NO_PROXY", "no_proxy"):
        os.environ[name] = ",".join(filter(None, (os.environ.get(name), "127.0.0.1")))


def _leave(number: int, frame: object) -> None:
    raise SystemExit(128 + number)
