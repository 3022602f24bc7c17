"""A sweep finishes a cell only when its messages have come to rest, and never forgets one that it can't account for."""

import signal
import sys
from types import SimpleNamespace

import pytest

from experiments import EXPERIMENTS
from loader import collecting
from loader.drain import drain
from loader.sqs.outcome import Outcome
from stampede.errors import RunError, UsageError
from stampede.insights import log_columns
from stampede.planning.plan import make_plan
from stampede.runs.account import check
from stampede.runs.description import RunDescription
from stampede.runs.folder import RunFolder
from stampede.stacks import stack_lock
from stampede.sweep import sweep as sweep_run
from stampede.sweep import swept_stack
from stampede.sweep.sweep import SweepRun
from stampede.sweep.swept_stack import SweptStack
from tests.fakes.own_sleep import replace_sleep
from tests.fakes.simulated_aws import EPOCH_MS, OUTPUTS, SimulatedAws, record
from tests.unit.loader.reads_experiment import READS, SMALL
from tests.unit.loader.shares_experiment import SHARES


class Cost:
    """Stands in for an estimate."""

    cells = unforeseen = ()

    def as_dict(self):
        return {}

    def cell_seconds(self, cell):
        return 12.0

    def apply_seconds(self, cell):
        return 10.0


class Stack:
    """Stands in for Terraform: applies nothing, remembers what it was asked, and plays `happen` for each cell."""

    def __init__(self, aws, happen):
        self.aws, self.happen, self.keep, self.steps, self.terraform = aws, happen, False, [], None
        self.orders = {}
        self.has_new_permissions = True

    def open(self):
        self.steps.append("open")

    def apply(self, variables):
        self.steps.append(variables["concurrency_value"])
        self.aws.outputs.update(variables)
        return self.aws

    def take_down(self, variables):
        self.steps.append("take down")


@pytest.fixture
def folder(tmp_path):
    return RunFolder.create(tmp_path, "r")


@pytest.fixture
def aws(monkeypatch):
    stack = SimulatedAws(
        "aws", OUTPUTS | {"memory_size": 1024, "method": "stream", "sink": "discard", "object_key": "k"}
    )
    monkeypatch.setattr(collecting.time, "time", lambda: EPOCH_MS / 1000 + stack.now_s)
    return stack


@pytest.fixture
def put(monkeypatch):
    """The sizes of the objects that were put, in bytes."""
    sizes = []
    monkeypatch.setattr(
        sweep_run, "put_objects", lambda _, objects: sizes.extend(entry.size_bytes for entry in objects)
    )
    return sizes


@pytest.fixture
def sweep(aws, folder, put, monkeypatch):
    """Runs the sweep of two cells, where `happen(cell, aws)` says what becomes of the one message of each."""
    monkeypatch.setattr(RunDescription, "describe", lambda self, target, terraform: None)
    settings = ["memory_size=1024", "concurrency_value=1,2", "object_size_mb=1"]

    def run(happen, *more, experiment=EXPERIMENTS["download"]):
        plan = make_plan(experiment, "aws", [*settings, *more], messages_per_concurrency=1, seed=3)
        stack = Stack(aws, happen)

        def flood(target, folder, cell, count, order, **options):
            stack.orders[cell] = order
            sent_at_ms = EPOCH_MS + int(aws.now_s * 1000)
            folder.append("sent.jsonl", [{"cell": cell, "seq": 0, "sent_at_ms": sent_at_ms, "warm_up": 0}])
            happen(cell, aws)
            return Outcome(sent=1)

        def drained(*arguments, **options):
            return drain(*arguments, **options, clock=aws.clock, sleep=aws.sleep)

        monkeypatch.setattr(sweep_run, "flood", flood)
        monkeypatch.setattr(sweep_run, "drain", drained)
        monkeypatch.setattr(sweep_run, "_empty_queue", lambda target: None)
        return stack, SweepRun(plan, folder, Cost(), stack, None)

    return run


def succeed(cell, aws, after_s=1, **more):
    n = aws.outputs["concurrency_value"]
    aws.log(record(0, cell=cell, concurrency_limit=n, **more), at_s=aws.now_s + 1, seen_at_s=aws.now_s + after_s)


def test_a_fast_flood_makes_no_apply_of_a_cell_to_come_any_faster(sweep, monkeypatch, capsys):
    """The first cell's apply isn't counted, and its 2 planned seconds of work take none here."""
    monkeypatch.setattr(sweep_run.time, "monotonic", lambda: 0.0)
    _, run = sweep(succeed)
    run.run()
    assert "1 cell left, about 10 s" in capsys.readouterr().err


def get_stuck(cell, aws):
    aws.log(record(0, "error", cell=cell), at_s=aws.now_s + 1)
    aws.__dict__["in_flight_until_s"] = 1e9


def leave_no_trace(cell, aws):
    """The function ends without a line."""


def test_no_cell_begins_while_a_message_of_the_last_one_is_on_its_way(sweep, folder, capsys):
    stack, run = sweep(get_stuck)
    stack.keep = True
    with pytest.raises(RunError, match=r"still has messages in progress, so the sweep stops here.*1 in flight"):
        run.run()
    assert capsys.readouterr().err.endswith(f"--resume {folder.as_argument} --keep`\n")
    assert stack.steps[0] == "open"
    assert stack.steps[-1] == "take down"
    assert len(stack.steps) == 3
    assert folder.read_json("run.json")["finished"] == {}


def test_a_message_without_an_answer_ends_its_cell_early_and_is_gone_before_the_next_one(
    sweep, aws, folder, monkeypatch, capsys
):
    aws.outputs.update(timeout_s=900, visibility_timeout_s=5400)
    replace_sleep(monkeypatch, sweep_run, aws.sleep)
    purged = []

    def purge_queue(self, QueueUrl):
        purged.append(aws.now_s)
        aws.hidden.clear()

    monkeypatch.setattr(SimulatedAws, "purge_queue", purge_queue, raising=False)
    _, run = sweep(lambda cell, aws: aws.hide(aws.now_s, 1e9) if aws.now_s == 0 else succeed(cell, aws))
    first, second = run.run()
    assert (first.unanswered, first.unaccounted, second.succeeded) == (1, 0, 1)
    assert len(purged) == 1 and 750 < purged[0] < 780
    assert aws.now_s < 1800
    assert len(folder.read_json("run.json")["cells"]) == 2
    assert "emptying the queue so that no message comes back during another cell (60 s)" in capsys.readouterr().err


def test_a_cell_whose_messages_all_fail_ends_the_sweep_and_a_resumed_one_runs_it_again(
    sweep, aws, folder, monkeypatch, capsys
):
    replace_sleep(monkeypatch, sweep_run, aws.sleep)
    monkeypatch.setattr(SimulatedAws, "purge_queue", lambda self, QueueUrl: None, raising=False)

    def fail(cell, aws):
        folder.append("sent.jsonl", [{"cell": cell, "seq": seq, "sent_at_ms": EPOCH_MS} for seq in range(1, 12)])
        for seq in range(10):
            aws.log(record(seq, "error", cell=cell), at_s=aws.now_s + 1)
        aws.__dict__["waiting_until_s"] = aws.now_s + 30

    stack, run = sweep(fail)
    [account] = run.run()
    assert (account.sent, account.failed, account.unanswered, account.unaccounted) == (12, 10, 2, 0)
    assert len(stack.steps) == 3 and stack.steps[-1] == "take down"
    assert folder.read_json("run.json")["finished"] == {} and folder.read_json("run.json")["finished_at"] is None
    assert "--resume" in capsys.readouterr().err
    again, run = sweep(succeed)
    run.run()
    assert again.steps == ["open", *stack.steps[1:2], *{1, 2} - {stack.steps[1]}, "take down"]


def test_a_resumed_run_that_lacks_a_message_fails_again_and_applies_nothing(sweep, folder):
    stack, run = sweep(leave_no_trace)
    with pytest.raises(RunError, match="1 UNACCOUNTED"):
        check(run.run())
    assert len(folder.read_json("run.json")["cells"]) == 2
    stack, run = sweep(succeed)
    with pytest.raises(RunError, match="1 UNACCOUNTED"):
        check(run.run())
    assert stack.steps == []


def test_a_log_group_that_still_owes_a_record_is_not_destroyed_in_silence(sweep, capsys):
    _, run = sweep(leave_no_trace)
    run.run()
    assert "2 messages have no record yet, and the log group group is destroyed" in capsys.readouterr().err


def test_a_line_that_comes_while_the_next_cell_runs_is_fetched_before_the_stack_goes(sweep, aws, folder):
    def late_in_the_first(cell, aws):
        is_first = aws.now_s == 0
        succeed(cell, aws, after_s=700 if is_first else 1)
        aws.__dict__["in_flight_until_s"] = aws.now_s if is_first else aws.now_s + 200

    check(sweep(late_in_the_first)[1].run())
    assert log_columns.stored(folder.path / "log_events.jsonl") is not None, "the columns lack the late line"


def test_a_run_that_is_complete_is_left_as_it_is_when_it_is_resumed(sweep, folder, capsys):
    _, run = sweep(succeed)
    accounts = run.run()
    before = (folder.path / "run.json").read_bytes()
    stack, again = sweep(succeed)
    assert again.run() == accounts
    assert (stack.orders, (folder.path / "run.json").read_bytes()) == ({}, before)
    assert f"run {folder.run_id} is complete: nothing is left to run" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("owner", "steps"), [({"run_id": "r"}, ["open", "take down"]), ({"run_id": "x"}, []), ({}, [])]
)
def test_a_run_that_was_cut_off_after_its_last_cell_gets_its_end_when_it_is_resumed_and_takes_its_stack_down(
    sweep, folder, monkeypatch, owner, steps
):
    monkeypatch.setattr(stack_lock, "owner", lambda kind: owner)
    sweep(succeed)[1].run()
    folder.write_json("run.json", folder.read_json("run.json") | {"finished_at": None})
    stack, again = sweep(succeed)
    again.run()
    assert stack.steps == steps
    assert folder.read_json("run.json")["finished_at"] is not None


def test_a_record_of_an_older_cell_s_message_is_no_figure_of_the_newer_ones_settings(sweep, aws):
    def other_memory(cell, aws):
        succeed(cell, aws, memory_size=2048)

    with pytest.raises(RunError, match="with settings other than the cell's"):
        check(sweep(other_memory)[1].run())


def test_cells_that_differ_only_in_their_work_orders_share_one_apply(sweep, put, folder, monkeypatch):
    monkeypatch.setitem(EXPERIMENTS, "reads", READS)

    def happen(cell, aws):
        succeed(cell, aws, threads=int(cell.rpartition("=")[2]), dataset="large")

    stack, run = sweep(happen, "dataset=large", "threads=1,30", experiment=READS)
    check(run.run())
    assert sorted(stack.steps[1:-1]) == [1, 2]  # an apply for each N
    assert len(put) == 2 * (1 + len(SMALL))
    assert {cell: order["threads"] for cell, order in stack.orders.items()} == {
        f"memory_size=1024,concurrency_value={n},dataset=large,threads={threads}": threads
        for n in (1, 2)
        for threads in (1, 30)
    }
    cells = {cell["cell"]: cell["values"] for cell in folder.read_json("run.json")["cells"]}
    assert cells["memory_size=1024,concurrency_value=2,dataset=large,threads=30"]["threads"] == 30


def test_the_permissions_are_proven_once_after_each_apply_that_wrote_the_role(sweep, monkeypatch):
    proven = []
    monkeypatch.setitem(EXPERIMENTS, "reads", READS.with_(proof=lambda values: {"proof": 1}))
    monkeypatch.setattr(sweep_run, "wait_for_permission", lambda target, cell, order: proven.append(order["proof"]))

    def happen(cell, aws):
        succeed(cell, aws, threads=int(cell.rpartition("=")[2]), dataset="large")
        stack.has_new_permissions = False  # of the first apply alone

    stack, run = sweep(happen, "dataset=large", "threads=1,30", experiment=EXPERIMENTS["reads"])
    check(run.run())
    assert proven == [1]


def test_the_manifest_is_put_once_a_stack_and_each_cell_is_prepared_before_its_flood(sweep, monkeypatch):
    calls = []
    monkeypatch.setitem(EXPERIMENTS, "shares", SHARES)
    monkeypatch.setattr(sweep_run, "put_manifest", lambda target: calls.append("manifest"))
    monkeypatch.setattr(sweep_run, "prepare", lambda *arguments, **options: calls.append("prepare"))

    def happen(cell, aws):
        calls.append("flood")
        succeed(cell, aws, parallel_limit=int(cell.rpartition("=")[2]))

    _, run = sweep(happen, "parallel_limit=10,20", experiment=SHARES)
    run.run()
    assert calls == ["manifest", "prepare", "flood", "prepare", "flood"] * 2


# Whose stack it is.


class Terraform:
    directory = "infra"

    def __init__(self, *resources):
        self.addresses = list(resources)

    def init(self):
        pass

    def outputs(self):
        return {}

    def resources(self):
        return self.addresses


@pytest.fixture
def applied(monkeypatch, tmp_path):
    """Opens the stack of a sweep where these resources are applied."""
    monkeypatch.setattr(swept_stack, "prepare", lambda: None)
    monkeypatch.setattr(stack_lock.stack, "ROOT", tmp_path)

    def open_over(*resources, run_id="r", **options):
        monkeypatch.setattr(swept_stack.targets, "aws_terraform", lambda: Terraform(*resources))
        SweptStack("aws", run_id, **({"keep": False, "take_over": False} | options)).open()

    return open_over


def test_a_stack_that_was_applied_by_hand_is_refused_unless_it_is_given(applied):
    with pytest.raises(UsageError, match=r"2 resources is already applied \(by hand\).*--take-over"):
        applied("aws_s3_bucket.data", "aws_sqs_queue.work")
    with pytest.raises(UsageError, match="by hand"):
        applied("aws_s3_bucket.data", keep=True)
    applied("aws_s3_bucket.data", take_over=True)


def test_the_stack_of_another_run_is_refused_and_its_own_is_taken_up_again(applied):
    applied()
    applied("aws_s3_bucket.data")
    with pytest.raises(UsageError, match="by run r"):
        applied("aws_s3_bucket.data", run_id="another")


@pytest.mark.parametrize(
    ("by", "answer", "stays_open", "wants"),
    [
        (None, "n", True, False),
        (None, "", True, True),
        (None, KeyboardInterrupt(), True, False),
        (None, EOFError(), True, False),
        (None, EOFError(), False, True),  # closed at the question
        (None, KeyboardInterrupt(), False, True),
        (signal.SIGTERM, AssertionError("nobody may be there to be asked"), True, True),
    ],
)
def test_the_stack_goes_unless_somebody_at_the_terminal_keeps_it(monkeypatch, by, answer, stays_open, wants):
    open_terminal = [True]

    def asked():
        open_terminal[0] = stays_open
        if isinstance(answer, BaseException):
            raise answer
        return answer

    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: open_terminal[0]))
    monkeypatch.setattr("builtins.input", asked)
    monkeypatch.setattr(sweep_run.signals, "first", by)
    assert sweep_run._wants_destroy() == wants
