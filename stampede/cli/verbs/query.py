"""`stampede query`: runs a saved Logs Insights query, on CloudWatch for a run on AWS and here for everything else,
runs at an endpoint in AWS's stead too.

Without --logs the lines are those of a stored run. A run on AWS is asked of CloudWatch itself as long as
CloudWatch has its lines; once the stack is destroyed, the lines stored with the run are evaluated here, and that is
said. Any other refusal of AWS stays an error. A query of queries/access_log is about S3's own access logs of the run's
time, and its rows are kept with the run.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import json
import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from experiments import EXPERIMENTS
from stampede.checkout import QUERIES
from stampede.emulator import ministack, stack
from stampede.errors import RunError, UsageError, no_file
from stampede.insights import EventsError, InsightsError, always_a_row, check, export, number_text, with_filters
from stampede.insights.backends import Answer, Backend, LinesGoneError, Local, Service, time_range_ms
from stampede.insights.log_columns import COLUMNS, LINES
from stampede.phrases import counted
from stampede.progress import say
from stampede.runs.folder import RunFolder
from stampede.stacks import target as targets
from stampede.stacks.infra_variables import family
from stampede.stacks.place import words
from stampede.sweep import server_side
from stampede.tables import print_rows

# Lambda's own START, END and REPORT lines carry no run_id: a query over them is narrowed by the run's time alone.
_PLATFORM_FIELD = re.compile(r"@(type|duration|billedDuration|initDuration|memorySize|maxMemoryUsed)\b")
# Two stats: the number of different messages, exactly; count_distinct is approximate where they are many.
_ARRIVED = "filter ispresent(message_id) | stats count(*) as records by message_id | stats count(*) as arrived"


def run(arguments: argparse.Namespace) -> int:
    """Evaluate the query and print its rows on stdout; exit status 2, and nothing on stdout, where it can't be."""
    experiment = _experiment(arguments)
    text = read_query(arguments.query, experiment)
    where = dict(arguments.where)
    try:
        check(text)  # on the text as it is, so that lines and columns are those of the file
        if arguments.logs is not None:
            _refuse_stack_options(arguments, ("target", "outputs", "region"), "--logs needs no stack")
            logs = tuple(arguments.logs)
            _check_export(logs, arguments.export)
            answer = Local(logs).ask(with_filters(text, where))
        else:
            folder = RunFolder.find(arguments.results_dir, arguments.run)
            if _path(arguments.query, experiment).parent == server_side.SAVED:
                answer, logs = _of_access_log(text, where, folder, arguments), ()
            else:
                answer, logs = _of_run(text, where, folder, arguments)
            if arguments.run is None:
                say(f"run {folder.name}: the newest")
        if arguments.export is not None:
            try:
                count = export(logs, arguments.export)
            except EventsError as error:
                raise RunError(f"--export: {error}; free that disk, or use another folder") from None
            say(f"{counted(count, 'log event')}: {arguments.export}")
    except EventsError as error:
        raise UsageError(f"{'--logs' if arguments.logs is not None else '--run'}: {error}") from None
    except InsightsError as error:
        raise UsageError(f"{arguments.query}: {error}") from None
    print_rows(answer.rows if arguments.format == "json" else answer.printed, arguments.format, answer.columns)
    result = why = ""
    if not answer.rows:
        result, why = "no rows", "no line fits the query and its filters"
    elif always_a_row(text) and _counts_nothing(answer):
        result, why = "nothing counted", "no line fits the query and its filters and has its fields"
    if result:
        say(f"{result}: {_unknown_field(logs, where) or _of_another(arguments.query, experiment) or why}")
    return 0


def _counts_nothing(answer: Answer) -> bool:
    """Whether the row of `stats` without `by` is about no event, or none that has its fields: counts are 0 then, and an
    average or sum is left out. A row of zeros alone may be of events that are there, so it isn't taken for one."""
    values = [answer.rows[0].get(column) for column in answer.columns]
    return None in values and set(values) <= {0, None}


def _of_another(name: str, experiment: str | None) -> str:
    """That a saved query is another experiment's than the run is of; empty where it isn't, or nobody knows."""
    path = _path(name, experiment)
    owner = path.parent.name
    has_owner = path.parent.parent == QUERIES and owner in EXPERIMENTS
    if experiment is None or not has_owner or owner in family(experiment):
        return ""
    return f"{path.stem} is a query of {owner}, and the run is of {experiment}; name another run with --run"


def _unknown_field(logs: tuple[Path, ...], where: dict[str, str]) -> str:
    """Which of the fields in `where` no stored line has, with the field that may be meant; empty where all have one."""
    if not logs or not all(path.exists() for path in logs):
        return ""
    for name in where:
        if not name.isidentifier() or Local(logs).ask(f"filter ispresent({name}) | limit 1").rows:
            continue
        known: set[str] = set()
        for row in Local(logs).ask("fields @message | limit 1000").rows:
            with contextlib.suppress(ValueError, TypeError):
                known.update(json.loads(row["@message"]))
        near = difflib.get_close_matches(name, sorted(known), n=1)
        return f"no line has the field {name}" + (f"; did you mean {near[0]}?" if near else "")
    return ""


def read_query(name: str, experiment: str | None = None) -> str:
    """The text of a query by path, as `EXPERIMENT/NAME`, or as the NAME that `experiment`, else one alone, has.

    Raises UsageError.
    """
    path = _path(name, experiment)
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise UsageError(f"NAME|FILE: {path} can't be read as UTF-8 text; give a query") from None


def _path(name: str, experiment: str | None) -> Path:
    """The file of a query, as `read_query` finds it. Raises UsageError."""
    if not name:
        raise UsageError("NAME|FILE: must be the name of a query, or a .cwli file, got ''")
    path = Path(name)
    if path.is_file():
        return path
    saved = {f"{file.parent.name}/{file.stem}": file for file in sorted(QUERIES.glob("*/*.cwli"))}
    for known in (name, *(f"{folder}/{name}" for folder in (*family(experiment or ""), "common"))):
        if known in saved:
            return saved[known]
    namesakes = [known for known, file in saved.items() if file.stem == name]
    if len(namesakes) > 1:
        raise UsageError(f"NAME|FILE: more than one experiment has a query {name!r}; use {' or '.join(namesakes)}")
    if namesakes:
        return saved[namesakes[0]]
    if any(map(str.isspace, name)) and not path.suffix:
        raise UsageError(f"NAME|FILE: {name!r} isn't the name of a query; put a query of your own into a .cwli file")
    if path.exists():
        raise UsageError(f"NAME|FILE: {no_file(path)}; give the name of a query, or a .cwli file")
    # Of an experiment that is named: another's query of almost this name would give no rows.
    own = [known for known in saved if known.startswith(f"{path.parent}/")]
    near = difflib.get_close_matches(name, own or [*saved, *(file.stem for file in saved.values())], n=1)
    hint = f"did you mean {near[0]}?" if near else f"saved queries: {', '.join(own or saved)}"
    if path.suffix:
        raise UsageError(f"NAME|FILE: there is no file {name!r}; {hint}")
    raise UsageError(f"NAME|FILE: there is no query {name!r}; {hint}")


def _experiment(arguments: argparse.Namespace) -> str | None:
    """The experiment of the run that is asked about; None for exported lines, or where there is no such run."""
    if arguments.logs is not None:
        return None
    with contextlib.suppress(UsageError):  # told once the query is known to be right
        return RunFolder.find(arguments.results_dir, arguments.run).read_json("run.json", {}).get("experiment")
    return None


def _refuse_stack_options(arguments: argparse.Namespace, names: Sequence[str], why: str) -> None:
    """Raises UsageError for one of these options that say which stack, where none is asked. A target that is the whole
    shell's isn't one that was given."""
    of_shell = {"target": os.environ.get("STAMPEDE_TARGET") or None}
    for name in names:
        if getattr(arguments, name) not in (None, of_shell.get(name)):
            raise UsageError(f"--{name}: {why}; leave it out")


def _check_export(logs: tuple[Path, ...], export_to: Path | None) -> None:
    """Raises UsageError when the lines would be written over themselves, or a run's columns by others, or where no file
    can be."""
    if export_to is None:
        return
    if export_to.resolve() in [path.resolve() for path in logs]:
        raise UsageError(f"--export: {export_to} holds the lines that are read; use another name")
    if not export_to.parent.is_dir():
        raise UsageError(f"--export: there is no folder {export_to.parent}; make it, or use another one")
    if export_to.exists() and not export_to.is_file():
        raise UsageError(f"--export: {export_to} isn't a file; use another name")


def _of_run(
    text: str, where: dict[str, str], folder: RunFolder, arguments: argparse.Namespace
) -> tuple[Answer, tuple[Path, ...]]:
    """The answer for a stored run, and the file of its log events."""
    logs = folder.path / LINES
    if not (stored := folder.read_json("run.json", {})):
        raise UsageError(f"--run: {folder.path} has no run.json; restore it from a copy, or query a file with --logs")
    target = stored.get("target")
    on_aws = target == "aws"
    if target == "local" and arguments.target == "aws":
        raise UsageError(
            f"--target: run {folder.name} was on this machine; leave --target out and unset STAMPEDE_TARGET"
        )
    if not on_aws:
        why = f"run {folder.name} was on {words(stored)}: its stored lines are queried"
        _refuse_stack_options(arguments, ("outputs", "region"), why)
    if (not on_aws or arguments.export is not None) and not logs.exists():
        raise UsageError(f"--run: {_without_lines(folder, target)}")
    _check_export((logs, folder.path / COLUMNS), arguments.export)
    of_platform = _PLATFORM_FIELD.search(text) is not None
    narrowed = with_filters(text, where if of_platform else {"run_id": folder.run_id} | where)
    if on_aws:
        try:
            service = Service(_target(folder, arguments), *time_range_ms(folder))
            return _asked(service, narrowed, folder), (logs,)
        except (LinesGoneError, targets.NoStackError) as error:
            if not logs.exists():
                raise type(error)(f"{error}; and run {folder.name} has no stored log events to use instead") from None
            say(f"{error}; using {logs} instead", style="yellow")
    answer = _asked(Local.of_run(logs), narrowed, folder)
    if of_platform and target == "local" and answer.rows:
        say(
            "START, END and REPORT lines of this run are the embedded AWS's: their memory is that of its processes, "
            "and they report no initialization",
            style="yellow",
        )
    return answer, (logs,)


def _without_lines(folder: RunFolder, target: str | None) -> str:
    """Why a run has no stored log events, and the way out."""
    if (folder.path / "records.jsonl").exists():  # which are made from them
        columns = folder.path / COLUMNS
        instead = f", or query its columns with --logs {shlex.quote(str(columns))}" if columns.exists() else ""
        return f"run {folder.name} no longer has its {LINES}; restore it from a copy{instead}"
    if target == "local" and ministack.running(stack.STATE_DIR) is None:
        return (
            f"run {folder.name} has no log events: its stack is gone, and its log lines with it; resume a sweep with "
            f"`stampede sweep --resume {folder.as_argument}`, or start a new run"
        )
    return f"run {folder.name} has no log events yet; `stampede drain --run {folder.as_argument}` fetches them"


def _of_access_log(text: str, where: dict[str, str], folder: RunFolder, arguments: argparse.Namespace) -> Answer:
    """The answer about S3's own access logs of a stored run's time. All of it is stored with the run, and read from
    there once the lines are gone."""
    run = folder.read_json("run.json", {})
    if arguments.export is not None:
        raise UsageError("--export: S3's access logs are queried in CloudWatch, and not fetched; leave it out")
    if run.get("target") != "aws":
        raise UsageError(
            f"--run: {folder.name} ran on {words(run)}, and only S3 on AWS writes access logs; use a "
            "run on AWS whose stack has server_side_proof = true"
        )
    try:
        target = _target(folder, arguments)
        answer = server_side.ask(target, folder, with_filters(text, where))
    except (LinesGoneError, targets.NoStackError) as error:
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
        say(
            "S3 has delivered no log line of that time yet; it may take hours: run the query again later",
            style="yellow",
        )
    return answer


def _target(folder: RunFolder, arguments: argparse.Namespace) -> targets.Target:
    """The stack of a run on AWS. Raises NoStackError where none is applied, or AWS isn't reached."""
    if arguments.target == "local":
        raise UsageError(f"--target: run {folder.name} was on AWS; leave --target out and unset STAMPEDE_TARGET")
    if (now := targets.place("aws"))["target"] != "aws":
        raise targets.NoStackError(
            f"run {folder.name} was on AWS, but this shell's configuration leads to {words(now)}"
        )
    return targets.resolve(argparse.Namespace(**vars(arguments) | {"target": "aws"}))  # a local stack may be up too


def _asked(backend: Backend, text: str, folder: RunFolder) -> Answer:
    """The answer, with a warning when messages of the run have no record among the lines that were asked.

    Raises LinesGoneError when CloudWatch has no record of a run whose lines are stored.
    """
    answer = backend.ask(text)
    of_run = backend.ask(with_filters(_ARRIVED, {"run_id": folder.run_id})).rows
    arrived = of_run[0]["arrived"] if of_run else 0
    if isinstance(backend, Service) and arrived == 0 and (folder.path / LINES).exists():
        raise LinesGoneError(
            f"the log group {backend.group} has no line of run {folder.name}: it was created later, or "
            "its lines have expired"
        )
    sent = sum(1 for _ in folder.rows("sent.jsonl"))
    if arrived < sent:
        which = f"{sent - arrived:,} of its {counted(sent, 'message')}"
        why = _why_no_record(backend, folder, sent - arrived)
        say(f"run {folder.name} has no record of {which} {why}", style="yellow")
    return answer


def _why_no_record(backend: Backend, folder: RunFolder, count: int) -> str:
    """Why `count` messages of a run may have no record, and what changes that, where anything does."""
    ended = sum(
        row.get("dead_lettered", 0) + row.get("unanswered", 0) for row in folder.read_json("accounting.json", [])
    )
    if count <= ended:
        return f"among these lines: the account lists {ended:,} as dead-lettered or unanswered"
    if isinstance(backend, Service):
        return (
            "yet: CloudWatch may still be ingesting lines, or functions exited without one; run the query again "
            "before you publish its result"
        )
    return (
        "among the stored lines: functions exited without one, or lines weren't fetched or are lost; "
        f"`stampede drain --run {folder.as_argument}` accounts for them"
    )
