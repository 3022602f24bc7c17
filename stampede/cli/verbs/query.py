"""Run a Logs Insights query over a run, in CloudWatch or offline.

For a run on AWS, CloudWatch evaluates the query while it has the lines. Once
the stack is destroyed, and for every other run, this machine evaluates it over
the lines stored with the run. A query of queries/access_log reads S3's own
access logs of the run's time, and its rows are stored with the run.

examples:
  stampede query errors --run RUN_ID
      a saved query over a stored run
  stampede query summary --where cold_start=1 --format csv
      over cold starts only, as CSV
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stampede.checkout import QUERIES
from stampede.cli.arguments import add, add_own, condition, find_run, path, writable_file
from stampede.errors import UsageError
from stampede.phrases import counted
from stampede.progress import say
from stampede.runs.folder import RunFolder
from stampede.stacks.infra_variables import family
from stampede.tables import print_rows

if TYPE_CHECKING:
    from stampede.insights.backends import Answer, Backend
    from stampede.stacks.target import Target

_REPORTED = re.compile(r"@(maxMemoryUsed|initDuration|billedDuration)\b")
# Counts distinct messages exactly; count_distinct is approximate for large numbers.
_ARRIVED = (
    "filter ispresent(message_id) | stats count(*) as records by message_id | stats count(*) as "
    "arrived"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    parser.add_argument(
        "query",
        metavar="NAME|FILE",
        help="a saved query (NAME of the run's experiment, or EXPERIMENT/NAME), or a .cwli file",
    )
    lines = parser.add_mutually_exclusive_group()
    add(lines, "--run")
    add_own(
        lines,
        "--logs",
        "a .jsonl, .jsonl.gz or .parquet file of lines; may be repeated",
        "FILE",
        path,
        action="append",
    )
    add_own(
        parser,
        "--where",
        "only lines with this value; may be repeated",
        "KEY=VALUE",
        condition,
        action="append",
        default=[],
    )
    add_own(
        parser,
        "--export",
        "also write the lines as Parquet, for faster queries",
        "FILE.parquet",
        writable_file(".parquet"),
    )
    add(parser, "--results-dir", "--format")


def run(arguments: argparse.Namespace) -> int:
    """Evaluate the query and print its rows on stdout. Raises UsageError, with nothing on stdout,
    where it can't be evaluated."""
    from stampede.insights import EventsError, InsightsError, check

    folder = None if arguments.logs else find_run(arguments.results_dir, arguments.run)
    stored = folder.read_json("run.json", {}) if folder else {}
    file = find_query(arguments.query, stored.get("experiment"))
    try:
        text = file.read_text(encoding="utf-8")
        check(text)  # before filters are added: errors name lines and columns of the file
        answer = _ask(arguments, file, text, folder, stored)
    except UnicodeDecodeError:
        raise UsageError(f"NAME|FILE: {file} isn't UTF-8 text; give a query") from None
    except EventsError as error:
        raise UsageError(f"{'--logs' if arguments.logs else '--run'}: {error}") from None
    except InsightsError as error:
        raise UsageError(f"{arguments.query}: {error}") from None
    if folder and arguments.run is None:
        say(f"run {folder.name}: the newest")
    rows = answer.rows if arguments.format == "json" else answer.printed
    print_rows(rows, arguments.format, answer.columns)
    if not rows:
        say("no rows: no line matches the query and its filters")
    return 0


def find_query(name: str, experiment: str | None = None) -> Path:
    """The file of a query: a path, `EXPERIMENT/NAME`, the NAME that `experiment` has, or a unique
    NAME. Raises UsageError."""
    if Path(name).is_file():
        return Path(name)
    saved = {f"{file.parent.name}/{file.stem}": file for file in sorted(QUERIES.glob("*/*.cwli"))}
    namesakes = [key for key, file in saved.items() if file.stem == name]
    own = [f"{folder}/{name}" for folder in (*family(experiment or ""), "common")]
    for key in (name, *own, *(namesakes if len(namesakes) == 1 else ())):
        if key in saved:
            if experiment and key not in (name, *own):
                say(f"{experiment} has no query {name}: this is {key}", style="yellow")
            return saved[key]
    if namesakes:
        raise UsageError(
            f"NAME|FILE: several experiments have a query {name!r}; use {' or '.join(namesakes)}"
        )
    near = difflib.get_close_matches(name, [*saved, *(file.stem for file in saved.values())], n=1)
    hint = f"did you mean {near[0]}?" if near else "give a .cwli file, or a file's name in queries/"
    raise UsageError(f"NAME|FILE: there is no query {name!r}; {hint}")


def _ask(
    arguments: argparse.Namespace,
    file: Path,
    text: str,
    folder: RunFolder | None,
    stored: Mapping[str, Any],
) -> Answer:
    """Query the run's lines, S3's access logs of its time, or the files of --logs; and write
    --export. Raises UsageError where --export would overwrite a file that is read."""
    from stampede.insights import export, with_filters
    from stampede.insights.backends import Local
    from stampede.insights.log_columns import COLUMNS, LINES
    from stampede.sweep import server_side

    where, export_to = dict(arguments.where), arguments.export
    if folder is not None and file.parent == server_side.SAVED:
        if export_to is not None:
            raise UsageError("--export: S3's access logs stay in CloudWatch", "leave it out")
        return _of_access_log(text, where, folder, stored)
    logs = arguments.logs or [folder.path / LINES]
    read = {
        os.path.realpath(path) for path in (*logs, *([folder.path / COLUMNS] if folder else []))
    }
    if export_to is not None and os.path.realpath(export_to) in read:
        raise UsageError(f"--export: {export_to} holds the lines that are read; use another name")
    if folder is None:
        answer = Local(tuple(logs)).ask(with_filters(text, where))
    else:
        answer = _of_run(text, where, folder, stored)
    if export_to is not None:
        say(f"{counted(export(logs, export_to), 'log event')}: {export_to}")
    return answer


def _of_run(
    text: str, where: Mapping[str, str], folder: RunFolder, stored: Mapping[str, Any]
) -> Answer:
    """CloudWatch's answer for a run on AWS, while it has the lines; else the answer from the stored
    lines."""
    from stampede.insights import of_run, with_filters
    from stampede.insights.backends import Local, Service, time_range_ms
    from stampede.insights.log_columns import LINES

    logs = folder.path / LINES
    narrowed = of_run(with_filters(text, where), folder.run_id)
    if stored.get("target") == "local" and _REPORTED.search(text):
        lacking = (
            "REPORT lines of the embedded AWS have this machine's times, and neither a function's "
            "own memory nor cold starts"
        )
        say(lacking, style="yellow")

    def of_stored_lines() -> Answer | None:
        return _asked(Local.of_run(logs), narrowed, folder) if logs.exists() else None

    def of_service(target: Target) -> Answer:
        return _asked(Service(target, *time_range_ms(folder)), narrowed, folder)

    return _first_answer(folder, stored, of_service, of_stored_lines, logs)


def _first_answer(
    folder: RunFolder,
    stored: Mapping[str, Any],
    of_service: Callable[[Target], Answer],
    of_stored: Callable[[], Answer | None],
    file: Path,
) -> Answer:
    """The applied stack's answer for a run on AWS; where the stack or its lines are gone, and for
    other runs, the answer from a `file` of the run. Raises UsageError where there is none."""
    from stampede.insights.backends import LinesGoneError
    from stampede.stacks import target as targets
    from stampede.stacks.place import words

    gone = ""
    if stored.get("target") == "aws":
        try:
            if (now := targets.place("aws"))["target"] == "aws":
                return of_service(targets.resolve("aws"))  # a local stack may be up too
            gone = f"run {folder.name} was on AWS, but this shell is configured for {words(now)}; "
        except (LinesGoneError, targets.NoStackError) as error:
            gone = f"{error}; "
    answer = of_stored()
    if answer is None:
        raise UsageError(
            f"--run: {gone}run {folder.name} has no {file.name}",
            f"`stampede drain --run {folder.as_argument}` writes it while the stack exists, or "
            "restore a copy",
        )
    if gone:
        say(f"{gone}using {file} instead", style="yellow")
    return answer


def _asked(backend: Backend, text: str, folder: RunFolder) -> Answer:
    """The backend's answer, with a warning about messages of the run that have no record there.

    Raises LinesGoneError where CloudWatch has no record of a run whose lines are stored.
    """
    from stampede.insights import with_filters
    from stampede.insights.backends import LinesGoneError, Service
    from stampede.insights.log_columns import LINES

    answer = backend.ask(text)
    rows = backend.ask(with_filters(_ARRIVED, {"run_id": folder.run_id})).rows
    arrived = rows[0]["arrived"] if rows else 0
    sent = sum(1 for _ in folder.rows("sent.jsonl"))
    advice = f"`stampede drain --run {folder.as_argument}` accounts for them"
    if isinstance(backend, Service):
        advice = "CloudWatch may still be ingesting: query again before you publish the result"
        if arrived == 0 and (folder.path / LINES).exists():
            raise LinesGoneError(
                f"the log group {backend.group} has no line of run {folder.name}: it was created "
                "later, or its lines have expired"
            )
    if arrived < sent:
        say(
            f"run {folder.name} has no record of {sent - arrived:,} of its "
            f"{counted(sent, 'message')} among these lines; {advice}",
            style="yellow",
        )
    return answer


def _of_access_log(
    text: str, where: Mapping[str, str], folder: RunFolder, stored: Mapping[str, Any]
) -> Answer:
    """The answer from S3's access logs of a run's time. Without `where` it is stored with the run,
    and read from there once the log lines are gone."""
    from stampede.insights import with_filters
    from stampede.insights.backends import Answer
    from stampede.stacks.place import words
    from stampede.sweep import server_side

    def ask(target: Target) -> Answer:
        answer = server_side.ask(target, folder, with_filters(text, where))
        if not where and server_side.store(target, folder, answer):
            say(
                f"stored as {server_side.FILE}; `stampede report {folder.path}` shows it",
                style="dim",
            )
        if not answer.rows:
            say("S3 hasn't delivered these log lines yet; try again in some hours", "yellow")
        return answer

    def of_stored_answer() -> Answer | None:
        if where or (kept := server_side.stored(folder)) is None:
            return None
        printed = [{name: str(value) for name, value in row.items()} for row in kept["rows"]]
        return Answer(kept["columns"], kept["rows"], printed)

    if stored.get("target") != "aws":
        raise UsageError(
            f"--run: {folder.name} ran on {words(stored)}; only S3 on AWS has access logs",
            "use a run on AWS whose stack has server_side_proof = true",
        )
    file = folder.path / server_side.FILE
    return _first_answer(folder, stored, ask, of_stored_answer, file)
