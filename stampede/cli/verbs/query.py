"""Run a Logs Insights query over a run, in CloudWatch or offline.

For a run on AWS, CloudWatch evaluates it as long as it has the lines. Once the
stack is destroyed, and for every other run, the lines stored with the run are
evaluated on this machine. Any other refusal of AWS stays an error. A query of
queries/access_log reads S3's own access logs of the run's time, and its rows
are stored with the run.

examples:
  stampede query errors --run RUN_ID
      a saved query over a stored run
  stampede query summary --where cold_start=1 --format csv
      over cold starts only, as CSV
"""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stampede.checkout import QUERIES
from stampede.cli.arguments import add, condition, find_run, path, writable_file
from stampede.errors import UsageError
from stampede.phrases import counted
from stampede.progress import say
from stampede.runs.folder import RunFolder
from stampede.stacks.infra_variables import family

if TYPE_CHECKING:
    from stampede.insights.backends import Answer, Backend
    from stampede.stacks.target import Target

# Lambda's own START, END and REPORT lines carry no run_id: a query over them is narrowed by the
# run's time alone.
_PLATFORM_FIELD = re.compile(
    r"@(type|duration|billedDuration|initDuration|memorySize|maxMemoryUsed)\b"
)
# Two stats: the number of different messages, exactly; count_distinct is approximate where they are
# many.
_ARRIVED = (
    "filter ispresent(message_id) | stats count(*) as records by message_id | stats count(*) as "
    "arrived"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    name = "a saved query (NAME of the run's experiment, or EXPERIMENT/NAME), or a .cwli file"
    parser.add_argument("query", metavar="NAME|FILE", help=name)
    lines = parser.add_mutually_exclusive_group()
    add(lines, "--run")
    logs = (
        "exported lines in a .jsonl, .jsonl.gz or .parquet file; may be repeated (default: the "
        "lines of --run)"
    )
    lines.add_argument("--logs", metavar="FILE", action="append", type=path, help=logs)
    where = "only lines with this value; may be repeated (default: all lines)"
    parser.add_argument(
        "--where", metavar="KEY=VALUE", action="append", default=[], type=condition, help=where
    )
    export = "also write the lines as Parquet, for faster queries (default: no export)"
    parser.add_argument(
        "--export", metavar="FILE.parquet", type=writable_file(".parquet"), help=export
    )
    add(parser, "--results-dir", "--format")


def run(arguments: argparse.Namespace) -> int:
    """Evaluate the query and print its rows on stdout; exit status 2, and nothing on stdout, where
    it can't be."""
    from stampede.insights import EventsError, InsightsError, check
    from stampede.tables import print_rows

    folder = None if arguments.logs else find_run(arguments.results_dir, arguments.run)
    stored = folder.read_json("run.json", {}) if folder else {}
    file = find_query(arguments.query, stored.get("experiment"))
    try:
        text = file.read_text(encoding="utf-8")
        check(text)  # on the text as it is, so that lines and columns are those of the file
        answer = _ask(arguments, file, text, folder, stored)
    except UnicodeDecodeError:
        raise UsageError(f"NAME|FILE: {file} can't be read as UTF-8 text; give a query") from None
    except EventsError as error:
        raise UsageError(f"{'--logs' if arguments.logs else '--run'}: {error}") from None
    except InsightsError as error:
        raise UsageError(f"{arguments.query}: {error}") from None
    if folder and arguments.run is None:
        say(f"run {folder.name}: the newest")
    print_rows(
        answer.rows if arguments.format == "json" else answer.printed,
        arguments.format,
        answer.columns,
    )
    if not answer.rows:
        say("no rows: no line fits the query and its filters")
    return 0


def find_query(name: str, experiment: str | None = None) -> Path:
    """The file of a query by its path, as `EXPERIMENT/NAME`, or as the NAME that `experiment`, else
    one alone, has. Raises UsageError."""
    if Path(name).is_file():
        return Path(name)
    saved = {f"{file.parent.name}/{file.stem}": file for file in sorted(QUERIES.glob("*/*.cwli"))}
    namesakes = [key for key, file in saved.items() if file.stem == name]
    own = [f"{folder}/{name}" for folder in (*family(experiment or ""), "common")]
    for key in (name, *own, *(namesakes if len(namesakes) == 1 else ())):
        if key in saved:
            return saved[key]
    if namesakes:
        raise UsageError(
            f"NAME|FILE: more than one experiment has a query {name!r}; use "
            f"{' or '.join(namesakes)}"
        )
    near = difflib.get_close_matches(name, [*saved, *(file.stem for file in saved.values())], n=1)
    hint = (
        f"did you mean {near[0]}?" if near else f"give a .cwli file, or one of {', '.join(saved)}"
    )
    raise UsageError(f"NAME|FILE: there is no query {name!r}; {hint}")


def _ask(
    arguments: argparse.Namespace,
    file: Path,
    text: str,
    folder: RunFolder | None,
    stored: Mapping[str, Any],
) -> Answer:
    """The answer of a run's lines, or of S3's access logs of its time, or of the files of --logs;
    and write --export. Raises UsageError where that would be written over what is read."""
    from stampede.insights import export, with_filters
    from stampede.insights.backends import Local
    from stampede.insights.log_columns import COLUMNS, LINES
    from stampede.sweep import server_side

    where, export_to = dict(arguments.where), arguments.export
    if folder is not None and file.parent == server_side.SAVED:
        if export_to is not None:
            raise UsageError(
                "--export: S3's access logs are queried in CloudWatch, and not fetched; leave it "
                "out"
            )
        return _of_access_log(text, where, folder, stored)
    logs = tuple(arguments.logs or [folder.path / LINES])
    reads = [*logs, *([folder.path / COLUMNS] if folder else [])]
    if export_to is not None and export_to.resolve() in [path.resolve() for path in reads]:
        raise UsageError(f"--export: {export_to} holds the lines that are read; use another name")
    answer = (
        _of_run(text, where, folder, stored)
        if folder
        else Local(logs).ask(with_filters(text, where))
    )
    if export_to is not None:
        say(f"{counted(export(logs, export_to), 'log event')}: {export_to}")
    return answer


def _of_run(
    text: str, where: Mapping[str, str], folder: RunFolder, stored: Mapping[str, Any]
) -> Answer:
    """The answer for a stored run: CloudWatch's for one on AWS as long as it has the lines, else
    that of the lines that are stored. Raises UsageError where there are none."""
    from stampede.insights import with_filters
    from stampede.insights.backends import Local, Service, time_range_ms
    from stampede.insights.log_columns import LINES

    logs, of_platform = folder.path / LINES, _PLATFORM_FIELD.search(text) is not None
    narrowed = with_filters(text, where if of_platform else {"run_id": folder.run_id, **where})

    def of_stored_lines() -> Answer | None:
        return _asked(Local.of_run(logs), narrowed, folder) if logs.exists() else None

    if stored.get("target") == "aws":
        times_ms = time_range_ms(folder)
        return _asked_on_aws(
            folder,
            lambda target: _asked(Service(target, *times_ms), narrowed, folder),
            of_stored_lines,
            logs,
        )
    answer = of_stored_lines()
    if answer is None:
        if (folder.path / "records.jsonl").exists():  # which are made from the lines
            raise UsageError(
                f"--run: run {folder.name} no longer has its {LINES}; restore it from a copy"
            )
        drain = f"`stampede drain --run {folder.as_argument}` fetches them while its stack is there"
        raise UsageError(f"--run: run {folder.name} has no log events yet; {drain}")
    if of_platform and stored.get("target") == "local" and answer.rows:
        say(
            "START, END and REPORT lines of this run are the embedded AWS's, with the memory of "
            "its processes",
            "yellow",
        )
    return answer


def _asked_on_aws(
    folder: RunFolder,
    ask: Callable[[Target], Answer],
    of_stored: Callable[[], Answer | None],
    file: Path,
) -> Answer:
    """What the applied stack answers, or, where that or its lines are gone, what is stored in a
    `file` of the run."""
    from stampede.insights.backends import LinesGoneError
    from stampede.stacks import target as targets
    from stampede.stacks.place import words

    try:
        if (now := targets.place("aws"))["target"] != "aws":
            elsewhere = (
                f"run {folder.name} was on AWS, but this shell's configuration leads to "
                f"{words(now)}"
            )
            raise targets.NoStackError(elsewhere)
        return ask(targets.resolve("aws"))  # a local stack may be up too
    except (LinesGoneError, targets.NoStackError) as error:
        answer = of_stored()
        if answer is None:
            raise type(error)(
                f"{error}; and run {folder.name} has no stored log events to use instead"
            ) from None
        say(f"{error}; using {file} instead", style="yellow")
        return answer


def _asked(backend: Backend, text: str, folder: RunFolder) -> Answer:
    """The answer, with a warning when messages of the run have no record among the lines that were
    asked.

    Raises LinesGoneError when CloudWatch has no record of a run whose lines are stored.
    """
    from stampede.insights import with_filters
    from stampede.insights.backends import LinesGoneError, Service
    from stampede.insights.log_columns import LINES

    answer = backend.ask(text)
    of_run = backend.ask(with_filters(_ARRIVED, {"run_id": folder.run_id})).rows
    arrived = of_run[0]["arrived"] if of_run else 0
    sent = sum(1 for _ in folder.rows("sent.jsonl"))
    why = f"`stampede drain --run {folder.as_argument}` accounts for them"
    if isinstance(backend, Service):
        why = (
            "CloudWatch may still be ingesting lines: run the query again before you publish its "
            "result"
        )
        if arrived == 0 and (folder.path / LINES).exists():
            gone = "it was created later, or its lines have expired"
            raise LinesGoneError(
                f"the log group {backend.group} has no line of run {folder.name}: {gone}"
            )
    if arrived < sent:
        which = f"{sent - arrived:,} of its {counted(sent, 'message')}"
        say(f"run {folder.name} has no record of {which} among these lines; {why}", style="yellow")
    return answer


def _of_access_log(
    text: str, where: Mapping[str, str], folder: RunFolder, stored: Mapping[str, Any]
) -> Answer:
    """The answer about S3's own access logs of a stored run's time. All of it is stored with the
    run, and read from there once the lines are gone."""
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
            say(
                "S3 has delivered no log line of that time yet; it may take hours: run the query "
                "again later",
                "yellow",
            )
        return answer

    def of_stored_answer() -> Answer | None:
        if where or (kept := server_side.stored(folder)) is None:
            return None
        printed = [{name: str(value) for name, value in row.items()} for row in kept["rows"]]
        return Answer(kept["columns"], kept["rows"], printed)

    if stored.get("target") != "aws":
        elsewhere = (
            f"--run: {folder.name} ran on {words(stored)}, and only S3 on AWS writes access logs"
        )
        raise UsageError(elsewhere, "use a run on AWS whose stack has server_side_proof = true")
    return _asked_on_aws(folder, ask, of_stored_answer, folder.path / server_side.FILE)
