"""`stampede report`: rebuilds a run's table, figures and page from its stored records, without AWS or network.

With two runs it writes a page that compares them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from stampede import report, terminal
from stampede.cli.options.report import COMPARISON
from stampede.errors import RunError, UsageError
from stampede.full_disk import way_out
from stampede.progress import say
from stampede.runs.folder import RunFolder

# What is wrong with a run is on the page as a whole; here it must not push the table off the screen.
MOST_SENTENCES = 3


def run(arguments: argparse.Namespace) -> int:
    """Rebuild one run's folder and print its table, or compare two and print the answer; the path of the page goes to
    stderr.

    A run's id stands for its folder, as in the other verbs. Raises UsageError.
    """
    if len(arguments.run_dirs) > 2:
        raise UsageError(f"results/RUN_ID: {len(arguments.run_dirs)} runs given; give one, or two to compare")
    folders = [_folder(folder, arguments.results_dir) for folder in arguments.run_dirs]
    if len(folders) == 2:
        if arguments.format != "table":
            raise UsageError(f"--format {arguments.format}: is for one run; a comparison's page has comparison.csv")
        output = arguments.output or COMPARISON
        with _refusing(output):
            compared = report.compare(folders, output)
        terminal.tell(compared.headline)
        _say_some("not like for like", compared.differences)
        _say_some("incomplete data", compared.warnings)
        say(f"comparison: {compared.page}")
        return 0
    if arguments.output is not None:
        raise UsageError(f"--output: is for the comparison of two runs; one run's page is {folders[0]}/report.html")
    return 1 if build_and_print(folders[0], arguments.format) else 0


def _folder(given: Path, results_dir: Path) -> Path:
    """The folder of the run that is given by its path or id. Raises UsageError."""
    if given.is_dir() and not (given / "run.json").exists() and any(given.glob("*/run.json")):
        raise UsageError(f"{given} is the folder of the runs; name one: {given}/RUN_ID, see `ls {given}`")
    if given.is_file():
        folder = f"its run: {given.parent}" if (given.parent / "run.json").exists() else "a run"
        raise UsageError(f"{given} is a file; name the folder of {folder}")
    if given.exists():
        return given
    if len(given.parts) == 1:
        return RunFolder.find(results_dir, str(given), "results/RUN_ID").path
    return given


def build_and_print(run_dir: Path, form: str) -> bool:
    """Rebuild the report of `run_dir` and print its table and its answer; whether its figures are in doubt.

    Raises UsageError for a folder that is no run's.
    """
    with _refusing(run_dir):
        rebuilt = report.build(run_dir)
    rebuilt.table.print(form)
    if form == "table":
        terminal.tell(f"\n{rebuilt.headline}")
    _say_some("the figures are in doubt", rebuilt.problems)
    _say_some("incomplete data", rebuilt.warnings)
    say(f"report: {rebuilt.page}")
    return bool(rebuilt.problems)


def _say_some(heading: str, sentences: Sequence[str]) -> None:
    for sentence in sentences[:MOST_SENTENCES]:
        say(f"{heading}: {sentence}", style="yellow")
    if more := len(sentences[MOST_SENTENCES:]):
        say(f"{heading}: {more} more in the report", style="yellow")


@contextmanager
def _refusing(place: Path) -> Iterator[None]:
    """Turn what ends the writing of a page at `place` into a UsageError or a RunError."""
    try:
        yield
    except report.NoReport as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        why = error.strerror or error
        in_the_way = {IsADirectoryError: "folder", FileExistsError: "file", NotADirectoryError: "file"}.get(type(error))
        fix = f"remove or rename that {in_the_way}" if in_the_way else way_out(error)
        where = (error.filename2 or error.filename) if in_the_way else place
        raise RunError(f"the report {where} can't be written: {why}; {fix}") from None
