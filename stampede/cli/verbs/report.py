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
from typing import TYPE_CHECKING

from stampede.cli.arguments import FORMATS, add, find_run, writable_file
from stampede.errors import UsageError
from stampede.progress import say

if TYPE_CHECKING:
    from stampede.report.comparison import Comparison
    from stampede.report.history import History

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
        "status 3 where a cell is over 10 %% slower in the last of three runs or more than in the "
        "first"
    )
    parser.add_argument("--fail-on", choices=("slower",), help=f"{slower} (default: never)")
    add(parser, "--results-dir")
    add(parser, "--format", choices=(*FORMATS, "markdown"))


def run(arguments: argparse.Namespace) -> int:
    """Rebuild one run's folder and print its table, or set several against each other and print the
    answer; the path of the page goes to stderr. Raises UsageError."""
    from stampede import report

    folders = [find_run(arguments.results_dir, run, "RUN").path for run in arguments.runs]
    if len(folders) > 1 and arguments.format != "table":
        raise UsageError(
            f"--format {arguments.format}: is for one run; the page of several has a CSV"
        )
    if arguments.fail_on and len(folders) < 3:
        raise UsageError(f"--fail-on: is for three runs or more, got {len(folders)}")
    if len(folders) > 2:
        history = report.history(folders, arguments.output or HISTORY)
        _print_several("history", history)
        return SLOWER_STATUS if history.slower and arguments.fail_on else 0
    if len(folders) == 2:
        compared = report.compare(folders, arguments.output or COMPARISON)
        _print_several("comparison", compared, compared.differences)
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


def _print_several(name: str, page: Comparison | History, differences: Sequence[str] = ()) -> None:
    from stampede import terminal

    terminal.tell(page.headline)
    _say_some("not like for like", differences)
    _say_some("incomplete data", page.warnings)
    say(f"{name}: {page.page}")


def _say_some(heading: str, sentences: Sequence[str]) -> None:
    for sentence in sentences[:MOST_SENTENCES]:
        say(f"{heading}: {sentence}", style="yellow")
    if more := len(sentences[MOST_SENTENCES:]):
        say(f"{heading}: {more} more in the report", style="yellow")
