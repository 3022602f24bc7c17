"""The Lambda function of the download experiment: for each message one timed download and one record.

`handler` is the entry point. What is made once per sandbox (its id, the settings, the S3 client) is made when
this module is imported, which Lambda does before the first event.
"""

import os
import time
import uuid
from typing import Any

from methods import DISCARD, load
from record import build_record, write_record
from redelivery import Redelivery
from settings import SMALLEST_MEMORY_MB, Settings, SettingsError, read_settings
from sqs_event import Message, read_messages
from start_barrier import wait_until
from timed_download import MARGIN_S, Downloader, Outcome
from work_order import WorkOrder, WorkOrderError, parse_work_order


class Sandbox:
    """One execution environment, from its start until Lambda discards it."""

    def __init__(self) -> None:
        self.sandbox_id = uuid.uuid4().hex
        self.downloader = Downloader()
        self.settings: Settings | None = None
        self.settings_error: str | None = None
        self._is_cold = True
        try:
            # A wrong environment must not break the import: then no message would leave a record.
            self.settings = read_settings(os.environ)
            self.method = load(self.settings.method)
            self.s3 = self.method.build_client(self.settings)
        except SettingsError as error:
            self.settings_error = str(error)
        self.redelivery = Redelivery(self.settings.memory_size if self.settings else SMALLEST_MEMORY_MB)

    def take_cold_start(self) -> int:
        """Return 1 for the first record of this sandbox and 0 for every later one."""
        cold_start, self._is_cold = int(self._is_cold), False
        return cold_start

    def download(self, order: WorkOrder, deadline_s: float) -> Outcome:
        """Do what the order says; raises Failure or OSError when it fails before the download begins."""
        if self.settings is None or self.settings_error is not None:
            raise SettingsError(self.settings_error)
        _refuse_impossible_checksum(self.settings, order)
        wait_until(order.start_at_ms, deadline_s)
        return self.downloader.run(self.method.fetch, self.s3, self.settings, order, deadline_s)


def _refuse_impossible_checksum(settings: Settings, order: WorkOrder) -> None:
    if (
        settings.method == "ranges"
        and settings.sink == DISCARD
        and order.checksum
        and order.checksum.algorithm != "crc32"
    ):
        raise WorkOrderError(
            "ranges that are discarded don't come in order, so only a crc32 can be computed: ask for crc32, "
            "or set SINK to memory or tmp"
        )


_SANDBOX = Sandbox()


def handler(event: Any, context: Any) -> dict[str, list[dict[str, str]]]:
    """Process the messages of one SQS event and return the failed ones, which SQS then delivers again.

    Every message leaves one record, ok or error. Raises EventError when the event isn't one of SQS.
    """
    failed = []
    for message in read_messages(event):
        record = _process(message, context)
        write_record(record)
        if record["status"] == "error":
            failed.append(message)
    for message in failed:  # after every record: what is told to SQS must not delay or lose one
        _SANDBOX.redelivery.hasten(message, context.get_remaining_time_in_millis() / 1000)
    return {"batchItemFailures": [{"itemIdentifier": message.message_id} for message in failed]}


def _process(message: Message, context: Any) -> dict[str, Any]:
    """Return the record of one message; only KeyboardInterrupt and SystemExit pass through."""
    deadline_s = time.monotonic() + context.get_remaining_time_in_millis() / 1000 - MARGIN_S
    order = None
    try:
        order = parse_work_order(message.body)
        outcome = _SANDBOX.download(order, deadline_s)
    except Exception as error:
        outcome = Outcome.not_started(error)
    return build_record(
        settings=_SANDBOX.settings,
        order=order,
        message=message,
        request_id=context.aws_request_id,
        sandbox_id=_SANDBOX.sandbox_id,
        cold_start=_SANDBOX.take_cold_start(),
        outcome=outcome,
    )
