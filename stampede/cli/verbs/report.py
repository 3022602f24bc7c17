"""Rebuild a run's report, compare two runs, or show several over time.

It needs neither AWS nor a network. With two runs it writes a page that compares
them, with three or more one that says in which a cell became slower or faster
than in the first.

examples:
  stampede report results/RUN_ID
      rebuild results/RUN_ID/report.html and print the table
  stampede report results/RUN_A results/RUN_B --output ab.html
      compare two runs
  stampede report RUN_1 RUN_2 RUN_3 --fail-on slower
      over time; status 3 where the last is slower than the first
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from stampede.cli.arguments import FORMATS, add, find_run, writable_file
from stampede.errors import UsageError
from stampede.progress import say

COMPARISON, HISTORY = Path("comparison.html"), Path("history.html")
# Where --fail-on says so.
SLOWER_STATUS = 3
# What is wrong with a run is on the page as a whole; here it must not push the table off the
# screen.
MOST_SENTENCES = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    parser.add_argument(
        "runs", metavar="RUN", nargs="+", help="the folder or id of a run, or of several"
    )
    output = (
        f"where to write the page of several runs (default: {COMPARISON}, of three or more "
        f"{HISTORY})"
    )
    parser.add_argument("--output", metavar="FILE.html", type=writable_file(".html"), help=output)
    slower = (
        "end with status 3 where a cell of the last of three runs or more is slower than in the "
        "first, by over 10 %%"
    )
    parser.add_argument("--fail-on", choices=("slower",), help=f"{slower} (default: never)")
    add(parser, "--results-dir")
    add(parser, "--format", choices=(*FORMATS, "markdown"))


def run(arguments: argparse.Namespace) -> int:
    """Rebuild one run's folder and print its table, or set several against each other and print the
    answer; the path of the page goes to stderr. Raises UsageError."""
    folders = [find_run(arguments.results_dir, run, "RUN").path for run in arguments.runs]
    if len(folders) > 1 and arguments.format != "table":
        raise UsageError(
            f"--format {arguments.format}: is for one run; the page of several has a CSV"
        )
    if len(folders) > 2:
        slower = _over_time(folders, arguments.output or HISTORY)
        return SLOWER_STATUS if slower and arguments.fail_on else 0
    if arguments.fail_on:
        raise UsageError(f"--fail-on: is for three runs or more, got {len(folders)}")
    if len(folders) == 2:
        _compare(folders, arguments.output or COMPARISON)
        return 0
    if arguments.output is not None:
        raise UsageError(
            f"--output: is for several runs; one run's page is {folders[0]}/report.html"
        )
    return 1 if build_and_print(folders[0], arguments.format) else 0


def build_and_print(run_dir: Path, form: str) -> bool:
    """Rebuild the report of `run_dir` and print its table and its answer; whether its figures are
    in doubt.

    Raises UsageError for a folder that is no run's.
    """
    from stampede import report, terminal

    rebuilt = report.build(run_dir)
    rebuilt.table.print(form)
    if form == "table":
        terminal.tell(f"\n{rebuilt.headline}")
    _say_some("the figures are in doubt", rebuilt.problems)
    _say_some("incomplete data", rebuilt.warnings)
    say(f"report: {rebuilt.page}")
    return bool(rebuilt.problems)


def _compare(folders: Sequence[Path], output: Path) -> None:
    from stampede import report, terminal

    compared = report.compare(folders, output)
    terminal.tell(compared.headline)
    _say_some("not like for like", compared.differences)
    _say_some("incomplete data", compared.warnings)
    say(f"comparison: {compared.page}")


def _over_time(folders: Sequence[Path], output: Path) -> list[str]:
    """Write the page of runs over time; returns the cells that are slower in the last than in the
    first."""
    from stampede import report, terminal

    history = report.history(folders, output)
    terminal.tell(history.headline)
    _say_some("incomplete data", history.warnings)
    say(f"history: {history.page}")
    return history.slower


def _say_some(heading: str, sentences: Sequence[str]) -> None:
    for sentence in sentences[:MOST_SENTENCES]:
        say(f"{heading}: {sentence}", style="yellow")
    if more := len(sentences[MOST_SENTENCES:]):
        say(f"{heading}: {more} more in the report", style="yellow")
