"""Rebuild a run's report, compare two runs, or show several over time.

It needs neither AWS nor a network. Two runs give a page that compares them;
three or more give a page that shows in which run a cell became slower or faster
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

from stampede.cli.arguments import FORMATS, add, add_own, find_run, writable_file
from stampede.errors import UsageError
from stampede.progress import say

if TYPE_CHECKING:
    from stampede.report.comparison import Comparison
    from stampede.report.history import History

COMPARISON, HISTORY = Path("comparison.html"), Path("history.html")
# The exit status that --fail-on asks for.
SLOWER_STATUS = 3
# More would push the table off the screen. The page has all of them.
MOST_SENTENCES = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    parser.add_argument(
        "runs", metavar="RUN", nargs="+", help="the folder or id of a run, or of several"
    )
    add_own(
        parser,
        "--output",
        f"the page of several runs (default: {COMPARISON}, for three or more {HISTORY})",
        "FILE.html",
        writable_file(".html"),
    )
    parser.add_argument(
        "--fail-on",
        choices=("slower",),
        help="status 3 where a cell of the last run, of three or more, is over 10 %% slower than "
        "in the first",
    )
    add(parser, "--results-dir")
    add(parser, "--format", choices=(*FORMATS, "markdown"))


def run(arguments: argparse.Namespace) -> int:
    """Rebuild one run's folder and print its table, or compare several runs and print the answer;
    the path of the page goes to stderr. Raises UsageError."""
    from stampede import report

    folders = [find_run(arguments.results_dir, run, "RUN").path for run in arguments.runs]
    if len(folders) > 1 and arguments.format != "table":
        raise UsageError(
            f"--format {arguments.format}: is for one run", "the page of several has a CSV"
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
        raise UsageError("--output: is for several runs", f"see {folders[0]}/report.html")
    return 1 if build_and_print(folders[0], arguments.format) else 0


def build_and_print(run_dir: Path, form: str) -> bool:
    """Rebuild the report of `run_dir` and print its table and answer; returns whether its figures
    are in doubt. Raises UsageError for a folder that isn't a run's."""
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
    more = len(sentences) - MOST_SENTENCES
    in_report = [f"{more} more in the report"] if more > 0 else []
    for sentence in [*sentences[:MOST_SENTENCES], *in_report]:
        say(f"{heading}: {sentence}", style="yellow")
