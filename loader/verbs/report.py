"""`stampede report`: rebuilds a run's table, figures and page from its stored records, without AWS or network.

With two runs it writes a page that compares them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import report
from loader.errors import RunError, UsageError
from loader.progress import say
from report.table import print_table

T = TypeVar("T")


def run(arguments: argparse.Namespace) -> int:
    """Rebuild one run's folder and print its table, or compare two; the page's path goes to stderr."""
    if len(arguments.run_dirs) > 2:
        raise UsageError(f"results/RUN_ID: {len(arguments.run_dirs)} runs given; give one, or two to compare")
    if len(arguments.run_dirs) == 2:
        page = _refusing(lambda: report.compare(arguments.run_dirs, arguments.output), arguments.output)
        say(f"comparison: {page}")
        return 0
    build_and_print(arguments.run_dirs[0], arguments.format)
    return 0


def build_and_print(run_dir: Path, form: str) -> None:
    """Rebuild the report of `run_dir` and print its table. Raises UsageError for a folder that is no run's."""
    page, table = _refusing(lambda: report.rebuilt(run_dir), run_dir)
    print_table(table, form)
    say(f"report: {page}")


def _refusing(make: Callable[[], T], place: Path) -> T:
    try:
        return make()
    except report.NoReport as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise RunError(f"the report {place} can't be written: {error}") from None
