"""The drain waits for what is on its way, stores each event once, and names what is left."""

import json

import pytest

from loader.drain import drain
from loader.run_folder import RunFolder
from loader.target import Target

CELL, OTHER = "memory_size=1024,concurrency_value=5", "memory_size=2048,concurrency_value=5"


def record(seq, status="ok", cell=CELL, run_id="r"):
    coordinates = {"run_id": run_id, "cell": cell, "seq": seq, "status": status}
    return json.dumps({"concurrency_limit": 5} | coordinates)


class Aws(Target):
    """Stands in for a stack: `steps` holds, for each look, the log lines that are new, the messages in the queue and
    the bodies in the dead-letter queue. The last step stays."""

    def play(self, *steps):
        vars(self)["steps"], vars(self)["lines"] = list(steps), []
        return self

    @property
    def step(self):
        return self.steps[0]

    def client(self, service, **config):
        return self

    def get_queue_attributes(self, QueueUrl, AttributeNames):
        count = self.step["queue"] if QueueUrl == "queue" else len(self.step.get("dead", ()))
        return {"Attributes": dict.fromkeys(AttributeNames, "0") | {AttributeNames[0]: str(count)}}

    def receive_message(self, QueueUrl, **options):
        if self.step.pop("looked_at", False):
            return {}
        self.step["looked_at"] = True
        return {"Messages": [{"MessageId": body, "ReceiptHandle": body, "Body": body} for body in self.step["dead"]]}

    def change_message_visibility_batch(self, QueueUrl, Entries):
        return None

    def get_paginator(self, name):
        return self

    def paginate(self, logGroupName, startTime):
        self.lines.extend(self.step.pop("lines", ()))
        texts = enumerate(self.lines)
        events = [{"timestamp": 1_000_000, "message": line + "\n", "logStreamName": f"s{i}"} for i, line in texts]
        return [{"events": events[:2]}, {"events": events[2:]}]

    def sleep(self, seconds):
        if len(self.steps) > 1:
            self.steps.pop(0)


@pytest.fixture
def aws():
    outputs = {"queue_url": "queue", "dead_letter_queue_url": "dead", "log_group_name": "group", "region": "us-east-1"}
    return Aws("local", outputs)


@pytest.fixture
def folder(tmp_path):
    return RunFolder.create(tmp_path, "r")


def send(folder, *seqs, cell=CELL):
    folder.append("sent.jsonl", [{"cell": cell, "seq": seq, "sent_at_ms": 1_000_000} for seq in seqs])


def wait(aws, folder, **options):
    now = [0.0]

    def clock():
        now[0] += 1
        return now[0]

    return drain(aws, folder, deadline_s=60, clock=clock, sleep=aws.sleep, **options)


def test_it_waits_for_records_that_come_later_and_stores_each_once(aws, folder):
    send(folder, 0, 1, 2)
    aws.play(
        {"queue": 2, "lines": ["START", record(0)]},
        {"queue": 0, "lines": [record(1), record(1, run_id="another")]},
        {"queue": 0, "lines": [record(2), "REPORT"]},
    )
    [one] = wait(aws, folder)
    assert (one.sent, one.succeeded, one.unaccounted, one.duplicates) == (3, 3, 0, 0)
    assert [row["seq"] for row in folder.rows("records.jsonl")] == [0, 1, 2]
    assert len(list(folder.rows("log_events.jsonl"))) == 6
    assert folder.read_json("accounting.json") == [one.as_dict()]


def test_a_second_drain_goes_on_where_the_first_ended(aws, folder):
    send(folder, 0)
    wait(aws.play({"queue": 0, "lines": [record(0)]}), folder)
    send(folder, 1)
    [one] = wait(aws.play({"queue": 0, "lines": [record(0), record(1)]}), folder)
    assert (one.sent, one.succeeded, one.duplicates) == (2, 2, 0)
    assert [row["seq"] for row in folder.rows("records.jsonl")] == [0, 1]


@pytest.mark.parametrize("torn", ["", '{"concurrency_limit": 5, "run_'])
def test_a_drain_killed_between_its_two_files_loses_no_record(aws, folder, torn):
    send(folder, 0, 1, 2)
    lines = [record(0), record(1, run_id="another"), record(1), "REPORT"]
    wait(aws.play({"queue": 0, "lines": [*lines, record(2)]}), folder)
    rows = list(folder.rows("records.jsonl"))
    folder.write_text("records.jsonl", json.dumps(rows[0]) + "\n" + torn)
    [one] = wait(aws.play({"queue": 0, "lines": [*lines, record(2)]}), folder)
    assert (one.succeeded, one.unaccounted, one.duplicates) == (3, 0, 0)
    assert list(folder.rows("records.jsonl")) == rows


def test_only_the_cell_that_is_asked_for_is_waited_for_and_all_are_accounted_for(aws, folder):
    send(folder, 0, cell=OTHER)
    send(folder, 0)
    accounts = wait(aws.play({"queue": 0, "lines": [record(0)]}), folder, cell=CELL)
    assert [(one.cell, one.succeeded, one.unaccounted) for one in accounts] == [(OTHER, 0, 1), (CELL, 1, 0)]


def test_a_message_in_the_dead_letter_queue_is_done_and_one_without_a_trace_is_named(aws, folder, capsys):
    send(folder, 0, 1, 2)
    letters = [json.dumps({"run_id": run_id, "cell": CELL, "seq": 1}) for run_id in ("r", "another")]
    [one] = wait(aws.play({"queue": 0, "lines": [record(0), record(1, "error")], "dead": letters}), folder)
    assert (one.succeeded, one.dead_lettered, one.failed, one.unaccounted) == (1, 1, 0, 1)
    assert [row["seq"] for row in folder.rows("dead_letters.jsonl")] == [1]
    assert "1 UNACCOUNTED" in capsys.readouterr().err
