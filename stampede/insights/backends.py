"""Where `stampede query` runs: on files of log events, evaluated here, or on the log group of an
applied stack."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from stampede.errors import RunError, UsageError
from stampede.insights import EventsError, Result, evaluate, log_columns, row_limit
from stampede.insights.cloudwatch import run_on_service, too_many_rows
from stampede.progress import say
from stampede.runs.folder import RunFolder
from stampede.stacks import target as targets
from stampede.stacks.aws_errors import Kind, code_of, kind_of

# StartQuery's MalformedQueryException for a time range before the group was created, or whose lines
# have expired. A group that was destroyed and created again gets this instead of
# ResourceNotFoundException. Undocumented; users report these words.
_OUTSIDE_THE_GROUP = ("before the log groups creation time", "exceeds the log groups log retention")


# Messages are sent before, and lines ingested after, the times in the records.
MARGIN_MS = 60_000


class LinesGoneError(RunError):
    """CloudWatch no longer has the log group, or its lines of the time range."""


@dataclass(frozen=True)
class Answer:
    """The rows of a query, with numbers as int or float, and its column names in order; `printed`
    holds the rows as the service prints them, every value a string."""

    columns: list[str]
    rows: list[dict[str, Any]]
    printed: list[dict[str, str]]


class Backend(Protocol):
    """Where a query runs: `Local` files or the `Service`."""

    def ask(self, text: str) -> Answer:
        """All rows of the query. Raises QueryError, UsageError or RunError rather than omit any."""


@dataclass(frozen=True)
class Local:
    """Files of log events, or the stored lines of a `run`, evaluated here."""

    logs: tuple[Path, ...]
    run: RunFolder | None = None

    @classmethod
    def of_run(cls, lines: Path) -> Local:
        """The stored lines of a run."""
        return cls((lines,), RunFolder(lines.parent))

    def ask(self, text: str) -> Answer:
        """All rows of the query over the files."""
        result = self._evaluated(text)
        for note in result.notes:
            say(note, style="yellow")
        if result.truncated:
            raise UsageError(too_many_rows())
        return Answer(result.columns, result.rows, result.as_strings())

    def _evaluated(self, text: str) -> Result:
        if self.run is None:
            return evaluate(text, self.logs)
        try:
            return log_columns.answer(text, *self.logs)
        except EventsError as error:
            # the last line may be incomplete: still being written, or its writer was killed
            try:
                return evaluate(text, self.run.rows(log_columns.LINES))
            except (EventsError, UsageError):
                raise error from None


@dataclass(frozen=True)
class Service:
    """The log group that `output` of an applied stack names, between two epoch milliseconds,
    queried in CloudWatch."""

    target: targets.Target
    start_ms: int
    end_ms: int
    output: str = "log_group_name"

    @property
    def group(self) -> str:
        return self.target[self.output]

    def ask(self, text: str) -> Answer:
        """All rows of the query over the log group. Raises LinesGoneError when the group or its
        lines are gone."""
        logs, limit = self.target.client("logs"), row_limit(text)
        try:
            result = run_on_service(
                logs, self.group, text, self.start_ms, self.end_ms, row_limit=limit
            )
        except (BotoCoreError, ClientError) as error:
            raise _explained(error, self.group, self.target) from None
        megabytes = result.statistics.get("bytesScanned", 0) / 1e6
        say(f"CloudWatch scanned {megabytes:.1f} MB", style="dim")
        return Answer(result.columns, result.typed_rows(), result.rows)


def time_range_ms(folder: RunFolder) -> tuple[int, int]:
    """From the first message sent to the last record (or now), with a margin; epoch ms. Raises
    UsageError if the run sent none."""
    sent = [row["sent_at_ms"] for row in folder.rows("sent.jsonl")]
    if not sent:
        raise UsageError(f"run {folder.run_id} sent no messages, so it has no time range")
    finished = [record["finished_at_ms"] for record in folder.rows("records.jsonl")]
    end_ms = max(finished) if finished else int(time.time() * 1000)
    return min(sent) - MARGIN_MS, end_ms + MARGIN_MS


def _explained(error: BotoCoreError | ClientError, group: str, target: targets.Target) -> RunError:
    """The Logs API's refusal as one line with the fix."""
    code, kind = code_of(error), kind_of(error)
    message = error.response["Error"].get("Message", "") if isinstance(error, ClientError) else ""
    doing = "running the query"
    if code == "LimitExceededException":
        return RunError(
            f"{doing}: too many queries are running in this account ({code}); try again in a minute"
        )
    if kind is Kind.THROTTLED:
        return RunError(f"{doing}: CloudWatch throttled the call ({code}); try again in a minute")
    if code == "ResourceNotFoundException":
        return LinesGoneError(f"{doing}: the log group {group} isn't in {target.region}")
    if code == "MalformedQueryException" and any(words in message for words in _OUTSIDE_THE_GROUP):
        return LinesGoneError(
            f"{doing}: the log group {group} was created after the run, or its lines have expired"
        )
    if kind is Kind.DENIED:
        needed = "logs:StartQuery, logs:GetQueryResults and logs:StopQuery"
        return RunError(
            f"{doing}: these credentials aren't allowed to query CloudWatch ({code}); allow "
            f"{needed} on {group}"
        )
    return targets.explain(error, doing, target)
