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
import contextlib
import difflib
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stampede.checkout import QUERIES
from stampede.cli.arguments import add, find_run, path, writable_file
from stampede.errors import RunError, UsageError, no_file
from stampede.phrases import counted
from stampede.progress import say
from stampede.runs.folder import RunFolder
from stampede.stacks.infra_variables import family

if TYPE_CHECKING:
    from stampede.insights.backends import Answer, Backend
    from stampede.stacks.target import Target

# Lambda's own START, END and REPORT lines carry no run_id: a query over them is narrowed by the run's time alone.
_PLATFORM_FIELD = re.compile(r"@(type|duration|billedDuration|initDuration|memorySize|maxMemoryUsed)\b")
# Two stats: the number of different messages, exactly; count_distinct is approximate where they are many.
_ARRIVED = "filter ispresent(message_id) | stats count(*) as records by message_id | stats count(*) as arrived"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    name = "a saved query (NAME of the run's experiment, or EXPERIMENT/NAME), or a .cwli file"
    parser.add_argument("query", metavar="NAME|FILE", help=name)
    lines = parser.add_mutually_exclusive_group()
    add(lines, "--run")
    logs = (
        'query exported lines {"timestamp", "message", "logStream"?} in a .jsonl, .jsonl.gz or .parquet file, without '
        "AWS; may be repeated (default: the lines of --run)"
    )
    lines.add_argument("--logs", metavar="FILE", action="append", type=path, help=logs)
    where = "keep only lines whose field has this value; may be repeated (default: all lines)"
    parser.add_argument("--where", metavar="KEY=VALUE", action="append", default=[], type=_condition, help=where)
    export = "also write the lines as Parquet, which later queries read many times faster (default: no export)"
    parser.add_argument("--export", metavar="FILE.parquet", type=writable_file(".parquet"), help=export)
    add(parser, "--results-dir", "--format")


def _condition(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return key, value


def run(arguments: argparse.Namespace) -> int:
    """Evaluate the query and print its rows on stdout; exit status 2, and nothing on stdout, where it can't be."""
    from stampede.insights import EventsError, InsightsError, check
    from stampede.tables import print_rows

    experiment = _experiment(arguments)
    file = find_query(arguments.query, experiment)
    text = read_query(file)
    try:
        check(text)  # on the text as it is, so that lines and columns are those of the file
        answer, logs = _answer(file, text, arguments)
        if arguments.export is not None:
            _export(logs, arguments.export)
    except EventsError as error:
        raise UsageError(f"{'--logs' if arguments.logs is not None else '--run'}: {error}") from None
    except InsightsError as error:
        raise UsageError(f"{arguments.query}: {error}") from None
    print_rows(answer.rows if arguments.format == "json" else answer.printed, arguments.format, answer.columns)
    if not answer.rows:
        of_experiment = f" ({file.parent.name}/{file.stem}; the run is of {experiment})" if experiment else ""
        no_line = f"no line fits the query and its filters{of_experiment}"
        say(f"no rows: {_unknown_field(logs, [name for name, _ in arguments.where]) or no_line}")
    return 0


def _experiment(arguments: argparse.Namespace) -> str | None:
    """The experiment of the run that is asked about; None for exported lines, or where there is no such run."""
    if arguments.logs is not None:
        return None
    with contextlib.suppress(UsageError):  # told once the query is known to be right
        return find_run(arguments.results_dir, arguments.run).read_json("run.json", {}).get("experiment")
    return None


def find_query(name: str, experiment: str | None = None) -> Path:
    """The file of a query by its path, as `EXPERIMENT/NAME`, or as the NAME that `experiment`, else one alone, has.
    Raises UsageError."""
    path = Path(name)
    if path.is_file():
        return path
    saved = {f"{file.parent.name}/{file.stem}": file for file in sorted(QUERIES.glob("*/*.cwli"))}
    folders = (*family(experiment or ""), "common")
    namesakes = [key for key, file in saved.items() if file.stem == name]
    for key in (name, *(f"{folder}/{name}" for folder in folders), *(namesakes if len(namesakes) == 1 else ())):
        if key in saved:
            return saved[key]
    if namesakes:
        raise UsageError(f"NAME|FILE: more than one experiment has a query {name!r}; use {' or '.join(namesakes)}")
    if name and path.exists():
        raise UsageError(f"NAME|FILE: {no_file(path)}; give the name of a query, or a .cwli file")
    # Of an experiment that is named: another's query of almost this name would give no rows.
    own = [key for key in saved if key.startswith(f"{path.parent}/")]
    near = difflib.get_close_matches(name, own or [*saved, *(file.stem for file in saved.values())], n=1)
    hint = f"did you mean {near[0]}?" if near else f"give a .cwli file, or a saved query: {', '.join(own or saved)}"
    raise UsageError(f"NAME|FILE: there is no query {name!r}; {hint}")


def read_query(file: Path) -> str:
    """The text of a query. Raises UsageError."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise UsageError(f"NAME|FILE: {file} can't be read as UTF-8 text; give a query") from None


def _answer(file: Path, text: str, arguments: argparse.Namespace) -> tuple[Answer, Sequence[Path]]:
    """The answer, and the files of the lines that it is about as far as they are here."""
    from stampede.insights import with_filters
    from stampede.insights.backends import Local
    from stampede.sweep import server_side

    where, export_to = dict(arguments.where), arguments.export
    if arguments.logs is not None:
        _check_export(arguments.logs, export_to)
        return Local(tuple(arguments.logs)).ask(with_filters(text, where)), arguments.logs
    folder = find_run(arguments.results_dir, arguments.run)
    if file.parent == server_side.SAVED:
        if export_to is not None:
            raise UsageError("--export: S3's access logs are queried in CloudWatch, and not fetched; leave it out")
        answer, logs = _of_access_log(text, where, folder), ()
    else:
        answer, logs = _of_run(text, where, folder, export_to)
    if arguments.run is None:
        say(f"run {folder.name}: the newest")
    return answer, logs


def _of_run(
    text: str, where: Mapping[str, str], folder: RunFolder, export_to: Path | None
) -> tuple[Answer, Sequence[Path]]:
    """The answer for a stored run, and the file of its log events."""
    from stampede.insights import with_filters
    from stampede.insights.backends import LinesGoneError, Local, Service, time_range_ms
    from stampede.insights.log_columns import COLUMNS, LINES
    from stampede.stacks.target import NoStackError

    logs = folder.path / LINES
    if not (stored := folder.read_json("run.json", {})):
        raise UsageError(f"--run: {folder.path} has no run.json; restore it from a copy, or query a file with --logs")
    on_aws = stored.get("target") == "aws"
    if (not on_aws or export_to is not None) and not logs.exists():
        raise UsageError(f"--run: {_without_lines(folder)}")
    _check_export((logs, folder.path / COLUMNS), export_to)
    of_platform = _PLATFORM_FIELD.search(text) is not None
    narrowed = with_filters(text, where if of_platform else {"run_id": folder.run_id} | where)
    if on_aws:
        try:
            return _asked(Service(_target(folder), *time_range_ms(folder)), narrowed, folder), (logs,)
        except (LinesGoneError, NoStackError) as error:
            if not logs.exists():
                raise type(error)(f"{error}; and run {folder.name} has no stored log events to use instead") from None
            say(f"{error}; using {logs} instead", style="yellow")
    answer = _asked(Local.of_run(logs), narrowed, folder)
    if of_platform and stored.get("target") == "local" and answer.rows:
        say(
            "START, END and REPORT lines of this run are the embedded AWS's: their memory is that of its processes, "
            "and they report no initialization",
            style="yellow",
        )
    return answer, (logs,)


def _without_lines(folder: RunFolder) -> str:
    """Why a run has no stored log events, and the way out."""
    from stampede.insights.log_columns import COLUMNS, LINES

    if not (folder.path / "records.jsonl").exists():
        drain = f"`stampede drain --run {folder.as_argument}` fetches them while its stack is there"
        return f"run {folder.name} has no log events yet; {drain}"
    columns = folder.path / COLUMNS  # the records are made from the lines
    instead = f", or query its columns with --logs {shlex.quote(str(columns))}" if columns.exists() else ""
    return f"run {folder.name} no longer has its {LINES}; restore it from a copy{instead}"


def _target(folder: RunFolder) -> Target:
    """The stack of a run on AWS. Raises NoStackError where none is applied, or AWS isn't reached."""
    from stampede.stacks import target as targets
    from stampede.stacks.place import words

    if (now := targets.place("aws"))["target"] != "aws":
        raise targets.NoStackError(
            f"run {folder.name} was on AWS, but this shell's configuration leads to {words(now)}"
        )
    return targets.resolve("aws")  # a local stack may be up too


def _asked(backend: Backend, text: str, folder: RunFolder) -> Answer:
    """The answer, with a warning when messages of the run have no record among the lines that were asked.

    Raises LinesGoneError when CloudWatch has no record of a run whose lines are stored.
    """
    from stampede.insights import with_filters
    from stampede.insights.backends import LinesGoneError, Service
    from stampede.insights.log_columns import LINES

    answer = backend.ask(text)
    of_run = backend.ask(with_filters(_ARRIVED, {"run_id": folder.run_id})).rows
    arrived = of_run[0]["arrived"] if of_run else 0
    on_service = isinstance(backend, Service)
    if on_service and arrived == 0 and (folder.path / LINES).exists():
        raise LinesGoneError(
            f"the log group {backend.group} has no line of run {folder.name}: it was created later, or its lines have "
            "expired"
        )
    sent = sum(1 for _ in folder.rows("sent.jsonl"))
    if arrived < sent:
        why = "CloudWatch may still be ingesting lines: run the query again before you publish its result"
        if not on_service:
            why = f"`stampede drain --run {folder.as_argument}` accounts for them"
        which = f"{sent - arrived:,} of its {counted(sent, 'message')}"
        say(f"run {folder.name} has no record of {which} among these lines; {why}", style="yellow")
    return answer


def _of_access_log(text: str, where: Mapping[str, str], folder: RunFolder) -> Answer:
    """The answer about S3's own access logs of a stored run's time. All of it is stored with the run, and read from
    there once the lines are gone."""
    from stampede.insights import number_text, with_filters
    from stampede.insights.backends import Answer, LinesGoneError
    from stampede.stacks.place import words
    from stampede.stacks.target import NoStackError
    from stampede.sweep import server_side

    if (stored := folder.read_json("run.json", {})).get("target") != "aws":
        raise UsageError(
            f"--run: {folder.name} ran on {words(stored)}, and only S3 on AWS writes access logs",
            "use a run on AWS whose stack has server_side_proof = true",
        )
    try:
        target = _target(folder)
        answer = server_side.ask(target, folder, with_filters(text, where))
    except (LinesGoneError, NoStackError) as error:
        kept = server_side.stored(folder)
        if where or kept is None:
            raise type(error)(f"{error}; and none are stored with run {folder.name}") from None
        say(f"{error}; using {folder.path / server_side.FILE} instead, queried at {kept['asked_at']}", style="yellow")
        printed = [
            {name: number_text(value) if isinstance(value, float) else str(value) for name, value in row.items()}
            for row in kept["rows"]
        ]
        return Answer(kept["columns"], kept["rows"], printed)
    if not where and server_side.store(target, folder, answer):
        say(f"stored as {server_side.FILE}; `stampede report {folder.path}` shows it", style="dim")
    if not answer.rows:
        late = "S3 has delivered no log line of that time yet; it may take hours: run the query again later"
        say(late, style="yellow")
    return answer


def _check_export(logs: Sequence[Path], export_to: Path | None) -> None:
    """Raises UsageError when the lines would be written over themselves, or a run's columns by others."""
    if export_to is not None and export_to.resolve() in [path.resolve() for path in logs]:
        raise UsageError(f"--export: {export_to} holds the lines that are read; use another name")


def _export(logs: Sequence[Path], export_to: Path) -> None:
    from stampede.insights import EventsError, export

    try:
        count = export(tuple(logs), export_to)
    except EventsError as error:
        raise RunError(f"--export: {error}; free that disk, or use another folder") from None
    say(f"{counted(count, 'log event')}: {export_to}")


def _unknown_field(logs: Sequence[Path], names: Sequence[str]) -> str:
    """Which of the fields none of the first lines has, with the field that may be meant; empty where all have one."""
    from stampede.insights.backends import Local

    fields: set[str] = set()
    if logs and all(path.exists() for path in logs):
        for row in Local(tuple(logs)).ask("fields @message | limit 1000").rows:
            with contextlib.suppress(ValueError, TypeError):
                fields.update(json.loads(row["@message"]))
    for name in names if fields else ():
        if name not in fields and name.isidentifier():
            near = difflib.get_close_matches(name, sorted(fields), n=1)
            return f"no line has the field {name}" + (f"; did you mean {near[0]}?" if near else "")
    return ""
