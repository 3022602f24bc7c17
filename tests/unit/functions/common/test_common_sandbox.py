"""What every experiment's function gets for its operation: one that copies, with keys and a time of its own."""

import json
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from common.deadline import MARGIN_S, DeadlineRunner
from common.environment import Labels, SettingsError, read_labels
from common.measurement import Measurement
from common.sandbox import Sandbox
from common.work_order import WorkOrder, name, parse_work_order, whole_number
from tests.unit.functions.lambda_sandbox import Context, order, sqs_record

RECORD = json.loads((Path(__file__).parents[4] / "functions" / "agreed" / "record.json").read_text())


@dataclass(frozen=True, kw_only=True)
class CopyOrder(WorkOrder):
    dataset: str
    threads: int = 1


class Copy:
    """Takes `seconds` for its 7 bytes, or until it is stopped."""

    time_key = "elapsed_seconds"

    def __init__(self, seconds=0.0):
        self.settings = None
        self.cleaned_up = 0
        self._seconds = seconds
        self._runner = DeadlineRunner("copy", "data set")

    def prepare(self, environ):
        self.settings = Labels(**read_labels(environ), method="copytree")

    def parse(self, body):
        return parse_work_order(body, CopyOrder, {"dataset": name, "threads": whole_number})

    def run(self, order, deadline_s):
        self._runner.make_way(deadline_s)
        measurement = Measurement()

        def work():
            with measurement.timed():
                measurement.count_bytes(7)
                measurement.wait(self._seconds)
            return 7

        return self._runner.run(work, self._clean_up, measurement, deadline_s)

    def own_keys(self, order, outcome):
        return {"dataset": order.dataset if order else None, "retries": outcome.retries}

    def _clean_up(self):
        self.cleaned_up += 1


@pytest.fixture
def deliver(sandbox_environment, capsys):
    """Return a function that hands bodies to a sandbox; gives the records, and whether each was said to have failed."""

    def deliver(sandbox, *bodies, remaining_s=60):
        messages = [sqs_record(body) for body in bodies]
        answer = sandbox.handle({"Records": messages}, Context(remaining_s))
        failed = [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]
        records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        return records, [message["messageId"] in failed for message in messages]

    return deliver


def test_a_record_has_the_common_keys_with_the_experiments_time_in_second_place_and_then_its_own(deliver):
    [ok, bad], failed = deliver(Sandbox(Copy()), order(dataset="small"), order(dataset=""))
    common = ["elapsed_seconds" if key == "<time>" else key for key in RECORD["common"]]
    assert list(ok) == [*common, "dataset", "retries"]
    assert list(bad) == [*(key for key in common if key != "elapsed_seconds"), "dataset", "retries", *RECORD["error"]]
    assert failed == [False, True]
    assert (ok["method"], ok["status"], ok["bytes"], ok["dataset"]) == ("copytree", "ok", 7, "small")
    assert (bad["error_type"], bad["dataset"], bad["memory_size"]) == ("WorkOrderError", None, 1024)


def test_a_key_of_the_experiments_own_without_a_default_must_be_there(deliver):
    [record], _ = deliver(Sandbox(Copy()), order(threads=4))
    assert record["error_message"] == "the message lacks the key dataset: it needs run_id, cell, seq, dataset"


def test_a_key_of_another_experiments_is_unknown(deliver):
    [record], _ = deliver(Sandbox(Copy()), order(dataset="small", object_bytes=5))
    message = "unknown key 'object_bytes': known are run_id, cell, seq, start_at_ms, round, dataset, threads"
    assert message in record["error_message"]


def test_a_sandbox_that_cannot_be_prepared_answers_every_message_with_an_error_record(deliver, monkeypatch):
    copy = Copy()

    def prepare(environ):
        raise SettingsError("nothing is mounted")

    monkeypatch.setattr(copy, "prepare", prepare)
    records, failed = deliver(Sandbox(copy), order(dataset="small"), order(dataset="large"))
    assert [record["error_message"] for record in records] == ["nothing is mounted"] * 2
    assert failed == [True, True]
    assert [record["cold_start"] for record in records] == [1, 0]


def test_an_operation_is_stopped_at_the_deadline_and_its_error_speaks_of_it(deliver):
    copy = Copy(seconds=30)
    began_s = time.monotonic()
    [record], _ = deliver(Sandbox(copy), order(dataset="small"), remaining_s=MARGIN_S + 0.2)
    assert time.monotonic() - began_s < MARGIN_S
    assert record["error_type"] == "DeadlineExceeded"
    assert record["error_message"].endswith("7 of unknown bytes: raise timeout_s or make the data set smaller")
    assert (record["bytes"], copy.cleaned_up) == (7, 1)
