"""Sweeps in this process on a simulated AWS, with a stack that applies nothing."""

from collections import defaultdict
from types import SimpleNamespace

from stampede.runs.description import RunDescription
from stampede.sweep import sweep as sweep_run
from stampede.sweep.sweep import SweepRun
from tests.fakes.own_sleep import replace_sleep

ESTIMATE = SimpleNamespace(cells=(), as_dict=dict, cells_s=defaultdict(lambda: 12.0))
OUTPUTS = {
    "memory_size": 1024,
    "method": "stream",
    "sink": "discard",
    "object_key": "k",
    "queue_name": "q",
}


class Stack:
    """Replaces Terraform: applies nothing, and records its calls."""

    keep, terraform, has_new_permissions = False, None, True

    def __init__(self, aws):
        self.aws, self.steps = aws, []

    def open(self):
        self.steps.append("open")

    def apply(self, variables):
        self.steps.append(variables["concurrency_value"])
        self.aws.outputs.update(variables)
        return self.aws

    def take_down(self, variables):
        self.steps.append("take down")


def sweeps_of(aws, folder, monkeypatch):
    """A function that makes the stack and the sweep of a plan; `happen(body)` is the consequence of
    each message. `aws.put` collects the sizes of the objects put, in bytes."""
    aws.outputs.update(OUTPUTS)
    replace_sleep(monkeypatch, sweep_run, aws.sleep)
    monkeypatch.setattr(RunDescription, "describe", lambda self, target, terraform: None)
    monkeypatch.setattr(
        sweep_run, "put_objects", lambda _, rows: aws.put.extend(row.size_bytes for row in rows)
    )

    def make(plan, happen):
        vars(aws).update(happen=happen, floods=[], put=[])
        stack = Stack(aws)
        return stack, SweepRun(plan, folder, ESTIMATE, stack, None)

    return make
