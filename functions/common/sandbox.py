"""Handles an SQS event for every experiment: one timed operation and one record a message."""

import os
import time
import uuid
from collections.abc import Mapping
from typing import Any, Protocol

from common.deadline import MARGIN_S
from common.environment import Labels, SettingsError
from common.outcome import Outcome
from common.record import build_record, write_record
from common.redelivery import hasten
from common.sqs_event import Message, read_messages
from common.work_order import WorkOrder


class Operation(Protocol):
    """The operation of one experiment, made once per sandbox.

    `time_key` is the record's key for the seconds taken.
    """

    time_key: str
    settings: Labels | None  # None until `prepare` has read them

    def prepare(self, environ: Mapping[str, str]) -> None:
        """Read the settings and make what every message uses. Raises SettingsError."""

    def parse(self, body: str) -> WorkOrder:
        """Parse the body of a message. Raises WorkOrderError."""

    def run(self, order: WorkOrder, deadline_s: float) -> Outcome:
        """Do what the order says, from its start_at_ms until `deadline_s` (`time.monotonic()`).

        Raises Failure or OSError before the timed part begins; later failures are in the outcome.
        """

    def own_keys(self, order: WorkOrder | None, outcome: Outcome) -> dict[str, Any]:
        """Return the keys besides the common ones; `order` is None if it couldn't be read."""


class Sandbox:
    """One execution environment, from its start until Lambda discards it."""

    def __init__(self, operation: Operation) -> None:
        self.sandbox_id = uuid.uuid4().hex
        self._operation = operation
        self._settings_error: str | None = None
        self._is_cold = True
        try:
            # If a wrong environment broke the import, no message would leave a record.
            operation.prepare(os.environ)
        except SettingsError as error:
            self._settings_error = str(error)

    def handle(self, event: Any, context: Any) -> dict[str, list[dict[str, str]]]:
        """Process the messages of an SQS event and return the failed ones, which SQS redelivers.

        Every message leaves one record, ok or error. Raises EventError for any other event.
        """
        failed = []
        for message in read_messages(event):
            record = self._process(message, context)
            write_record(record)
            if record["status"] == "error":
                failed.append(message)
        for message in failed:  # after every record: calls of SQS must not delay or lose one
            hasten(message, context.get_remaining_time_in_millis() / 1000)
        return {"batchItemFailures": [{"itemIdentifier": message.message_id} for message in failed]}

    def _process(self, message: Message, context: Any) -> dict[str, Any]:
        """Return the record of one message; raises only KeyboardInterrupt and SystemExit."""
        deadline_s = time.monotonic() + context.get_remaining_time_in_millis() / 1000 - MARGIN_S
        order = None
        try:
            order = self._operation.parse(message.body)
            if self._settings_error is not None:
                raise SettingsError(self._settings_error)
            outcome = self._operation.run(order, deadline_s)
        except Exception as error:
            outcome = Outcome.not_started(error)
        cold_start, self._is_cold = int(self._is_cold), False
        return build_record(
            time_key=self._operation.time_key,
            labels=self._operation.settings,
            order=order,
            message=message,
            request_id=context.aws_request_id,
            sandbox_id=self.sandbox_id,
            cold_start=cold_start,
            outcome=outcome,
            own_keys=self._operation.own_keys(order, outcome),
        )
