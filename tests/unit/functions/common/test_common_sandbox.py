"""What every experiment's function gets for its operation: one that waits, with keys and a time of its own."""

import json
import time

import pytest

from common.deadline import MARGIN_S, DeadlineRunner
from common.environment import Labels, SettingsError, read_labels
from common.measurement import Measurement
from common.sandbox import Sandbox
from common.work_order import WorkOrder, parse_work_order
from tests.unit.functions.lambda_sandbox import RECORD, Context, order, sqs_record


class Nap:
    """Takes `seconds` for its 7 bytes, or until it is stopped."""

    time_key = "elapsed_seconds"

    def __init__(self, seconds=0.0, error=None):
        self.settings, self.cleaned_up = None, []
        self._seconds, self._error = seconds, error
        self._runner = DeadlineRunner("nap", "blanket")

    def prepare(self, environ):
        if self._error:
            raise self._error
        self.settings = Labels(**read_labels(environ), method="nap")

    def parse(self, body):
        return parse_work_order(body, WorkOrder, {})

    def run(self, order, deadline_s):
        measurement = Measurement()

        def work():
            with measurement.timed():
                measurement.count_bytes(7)
                measurement.wait(self._seconds)
            return 7

        return self._runner.run(work, lambda: self.cleaned_up.append(7), measurement, deadline_s)

    def own_keys(self, order, outcome):
        return {"cell_of_nap": order.cell if order else None}


@pytest.fixture
def deliver(sandbox_environment, capsys):
    """Return a function that hands bodies to a sandbox; gives the records, and whether each was said to have failed."""

    def deliver(operation, *bodies, remaining_s=60):
        messages = [sqs_record(body) for body in bodies]
        answer = Sandbox(operation).handle({"Records": messages}, Context(remaining_s))
        failed = [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]
        records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        return records, [message["messageId"] in failed for message in messages]

    return deliver


def test_a_record_has_the_common_keys_with_the_experiments_time_in_second_place_and_then_its_own(deliver):
    [first, bad, last], failed = deliver(Nap(), order(cell="c"), "not an order", order(cell="d"))
    common = ["elapsed_seconds" if key == "<time>" else key for key in RECORD["common"]]
    assert list(first) == list(last) == [*common, "cell_of_nap"]
    common.remove("elapsed_seconds")
    assert list(bad) == [*common, "cell_of_nap", *RECORD["error"]]
    assert failed == [False, True, False]
    assert (first["method"], first["status"], first["bytes"], last["cell_of_nap"]) == ("nap", "ok", 7, "d")
    assert (bad["error_type"], bad["seq"], bad["memory_size"]) == ("WorkOrderError", None, 1024)


def test_a_sandbox_that_cannot_be_prepared_answers_every_message_with_an_error_record(deliver):
    records, failed = deliver(Nap(error=SettingsError("nothing is mounted")), order(), order())
    assert [record["error_message"] for record in records] == ["nothing is mounted"] * 2
    assert failed == [True, True]
    assert [record["cold_start"] for record in records] == [1, 0]


def test_an_operation_is_stopped_at_the_deadline_and_its_error_speaks_of_it(deliver):
    nap = Nap(seconds=30)
    began_s = time.monotonic()
    [record], _ = deliver(nap, order(), remaining_s=MARGIN_S + 0.2)
    assert time.monotonic() - began_s < MARGIN_S
    assert (record["error_type"], record["bytes"], nap.cleaned_up) == ("DeadlineExceeded", 7, [7])
    assert "7 of unknown bytes" in record["error_message"]
    assert "blanket" in record["error_message"]
