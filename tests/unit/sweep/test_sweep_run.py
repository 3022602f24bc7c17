"""A sweep finishes a cell only when its messages have come to rest, and never forgets one that it can't account for."""

import json
import signal
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from experiments import EXPERIMENTS
from loader import collecting
from loader.drain import drain
from loader.sqs.outcome import Outcome
from stampede.cli.command_line import main
from stampede.cli.verbs import sweep as verb
from stampede.errors import RunError, UsageError
from stampede.experiment import DataObject
from stampede.insights import log_columns
from stampede.planning.plan import make_plan
from stampede.planning.predicting import parameters_of, predictions
from stampede.runs.account import check
from stampede.runs.description import RunDescription
from stampede.runs.folder import RunFolder
from stampede.stacks import stack_lock
from stampede.sweep import sweep as sweep_run
from stampede.sweep.sweep import SweepRun
from tests.fakes.own_sleep import replace_sleep
from tests.fakes.simulated_aws import EPOCH_MS, OUTPUTS, SimulatedAws, record
from tests.unit.loader.reads_experiment import READS, SMALL
from tests.unit.loader.shares_experiment import SHARES

ESTIMATE = SimpleNamespace(cells=(), as_dict=dict, cell_seconds=lambda cell: 12.0)


class Stack:
    """Stands in for Terraform: applies nothing, and remembers what it was asked."""

    keep, terraform, has_new_permissions = False, None, True

    def __init__(self, aws):
        self.aws, self.steps, self.orders = aws, [], {}

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
    outputs = {"memory_size": 1024, "method": "stream", "sink": "discard", "object_key": "k"}
    stack = SimulatedAws("aws", OUTPUTS | outputs)
    monkeypatch.setattr(collecting.time, "time", lambda: EPOCH_MS / 1000 + stack.now_s)
    monkeypatch.setattr(SimulatedAws, "purge_queue", lambda self, QueueUrl: self.hidden.clear(), raising=False)
    replace_sleep(monkeypatch, sweep_run, stack.sleep)
    return stack


@pytest.fixture
def put(monkeypatch):
    """The sizes of the objects that were put, in bytes."""
    sizes = []
    monkeypatch.setattr(sweep_run, "put_objects", lambda _, rows: sizes.extend(row.size_bytes for row in rows))
    return sizes


@pytest.fixture
def sweep(aws, folder, put, monkeypatch):
    """Makes the sweep of two cells, where `happen(cell, aws)` says what becomes of the one message of each."""
    monkeypatch.setattr(RunDescription, "describe", lambda self, target, terraform: None)

    def make(happen, *more, experiment=EXPERIMENTS["download"]):
        settings = ["memory_size=1024", "concurrency_value=1,2", "object_size_mb=1", *more]
        plan = make_plan(experiment, "aws", settings, messages_per_concurrency=1, seed=3)
        stack = Stack(aws)

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
        return stack, SweepRun(plan, folder, ESTIMATE, stack, None)

    return make


def succeed(cell, aws, after_s=1, **more):
    n = aws.outputs["concurrency_value"]
    aws.log(record(0, cell=cell, concurrency_limit=n, **more), at_s=aws.now_s + 1, seen_at_s=aws.now_s + after_s)


def leave_no_trace(cell, aws):
    """The function ends without a line."""


def finished(folder):
    return list(folder.read_json("run.json")["finished"])


def test_no_cell_begins_while_a_message_of_the_last_one_is_on_its_way(sweep, folder, capsys):
    def get_stuck(cell, aws):
        aws.log(record(0, "error", cell=cell), at_s=aws.now_s + 1)
        aws.__dict__["in_flight_until_s"] = 1e9

    stack, run = sweep(get_stuck)
    stack.keep = True
    with pytest.raises(RunError, match=r"still has messages in progress, so the sweep stops here.*1 in flight"):
        run.run()
    assert capsys.readouterr().err.endswith(f"--resume {folder.as_argument} --keep`\n")
    assert (stack.steps[0], len(stack.steps), stack.steps[-1], finished(folder)) == ("open", 3, "take down", [])


def test_a_message_without_an_answer_ends_its_cell_early_and_is_gone_before_the_next_one(sweep, aws, folder, capsys):
    aws.outputs.update(timeout_s=900, visibility_timeout_s=5400)
    _, run = sweep(lambda cell, aws: aws.hide(aws.now_s, 1e9) if aws.now_s == 0 else succeed(cell, aws))
    first, second = run.run()
    assert (first.unanswered, first.unaccounted, second.succeeded, len(finished(folder))) == (1, 0, 1, 2)
    assert aws.hidden == [] and aws.now_s < 1800
    said = capsys.readouterr().err
    assert "emptying the queue so that no message comes back" in said and "1 cell left, about 12 s" in said


def test_an_object_of_the_users_own_is_held_from_the_start_put_by_nobody_and_must_be_the_same_to_go_on(
    sweep, folder, put, monkeypatch
):
    mine = DataObject("k", 5, etag='"a"', bucket="my-own")
    monkeypatch.setattr(sweep_run.own_object, "of_plan", lambda option, experiment, cells: mine)
    stack, run = sweep(leave_no_trace)
    run.run()
    assert put == [] and folder.read_json("run.json")["object"]["etag"] == '"a"'
    assert list(stack.orders.values()) == [{"object_bytes": 5, "object_etag": '"a"'}] * 2
    stored = folder.read_json("run.json")
    folder.write_json("run.json", stored | {"finished": {}})
    monkeypatch.setattr(sweep_run.own_object, "of_plan", lambda *asked: replace(mine, etag='"b"'))
    stack, run = sweep(succeed)
    with pytest.raises(UsageError, match="put that one back, or start a new run"):
        run.run()
    assert stack.steps == []


def test_a_cell_whose_messages_all_fail_ends_the_sweep_and_a_resumed_one_runs_it_again(sweep, folder, capsys):
    def fail(cell, aws):
        folder.append("sent.jsonl", [{"cell": cell, "seq": seq, "sent_at_ms": EPOCH_MS} for seq in range(1, 12)])
        for seq in range(10):
            aws.log(record(seq, "error", cell=cell), at_s=aws.now_s + 1)
        aws.__dict__["waiting_until_s"] = aws.now_s + 30

    stack, run = sweep(fail)
    [account] = run.run()
    assert (account.sent, account.failed, account.unanswered, account.unaccounted) == (12, 10, 2, 0)
    assert (len(stack.steps), stack.steps[-1], finished(folder)) == (3, "take down", [])
    assert folder.read_json("run.json")["finished_at"] is None and "--resume" in capsys.readouterr().err
    again, run = sweep(succeed)
    run.run()
    assert again.steps == ["open", *stack.steps[1:2], *{1, 2} - {stack.steps[1]}, "take down"]


def test_a_run_that_lacks_a_message_says_what_goes_with_the_stack_and_fails_again_when_it_is_resumed(
    sweep, folder, capsys
):
    for happen, steps in ((leave_no_trace, ["open", 2, 1, "take down"]), (succeed, [])):
        stack, run = sweep(happen)
        with pytest.raises(RunError, match="1 UNACCOUNTED"):
            check(run.run())
        assert (stack.steps, len(finished(folder))) == (steps, 2)
    assert "2 messages have no record yet, and the log group group is destroyed" in capsys.readouterr().err


def test_a_line_that_comes_while_the_next_cell_runs_is_fetched_before_the_stack_goes(sweep, folder):
    def late_in_the_first(cell, aws):
        is_first = aws.now_s == 0
        succeed(cell, aws, after_s=700 if is_first else 1)
        aws.__dict__["in_flight_until_s"] = aws.now_s if is_first else aws.now_s + 200

    check(sweep(late_in_the_first)[1].run())
    assert log_columns.stored(folder.path / "log_events.jsonl") is not None, "the columns lack the late line"


@pytest.mark.parametrize(
    ("owner", "has_end", "steps"),
    [({}, True, []), ({"run_id": "r"}, False, ["open", "take down"]), ({"run_id": "x"}, False, []), ({}, False, [])],
)
def test_a_complete_run_keeps_its_end_and_one_that_was_killed_after_its_last_cell_takes_its_stack_down_and_gets_one(
    sweep, folder, monkeypatch, owner, has_end, steps
):
    monkeypatch.setattr(stack_lock, "owner", lambda kind: owner)
    accounts = sweep(succeed)[1].run()
    stored = folder.read_json("run.json")
    folder.write_json("run.json", stored if has_end else stored | {"finished_at": None})
    stack, again = sweep(succeed)
    assert (again.run(), stack.orders, stack.steps) == (accounts, {}, steps)
    ended = folder.read_json("run.json")
    assert ended["finished_at"] and (ended == stored or not has_end)


def test_a_record_of_an_older_cell_s_message_is_no_figure_of_the_newer_ones_settings(sweep):
    with pytest.raises(RunError, match="with settings other than the cell's"):
        check(sweep(lambda cell, aws: succeed(cell, aws, memory_size=2048))[1].run())


def test_cells_that_differ_in_their_work_orders_share_an_apply_its_objects_and_the_proof_of_its_permissions(
    sweep, put, folder, monkeypatch
):
    proven = []
    monkeypatch.setitem(EXPERIMENTS, "reads", READS.with_(proof=lambda values: {"proof": 1}))
    monkeypatch.setattr(sweep_run, "wait_for_permission", lambda target, cell, order: proven.append(order["proof"]))

    def happen(cell, aws):
        succeed(cell, aws, threads=int(cell.rpartition("=")[2]), dataset="large")
        stack.has_new_permissions = False  # of the first apply alone

    stack, run = sweep(happen, "dataset=large", "threads=1,30", experiment=EXPERIMENTS["reads"])
    check(run.run())
    assert (sorted(stack.steps[1:-1]), len(put), proven) == ([1, 2], 2 * (1 + len(SMALL)), [1])
    names = {
        f"memory_size=1024,concurrency_value={n},dataset=large,threads={threads}": threads
        for n in (1, 2)
        for threads in (1, 30)
    }
    assert {cell: order["threads"] for cell, order in stack.orders.items()} == names
    cells = folder.read_json("run.json")["cells"]
    assert {row["cell"]: row["values"]["threads"] for row in cells} == names


def test_the_manifest_is_put_once_a_stack_and_each_cell_is_prepared_before_its_flood(sweep, monkeypatch):
    calls = []
    monkeypatch.setitem(EXPERIMENTS, "shares", SHARES)
    monkeypatch.setattr(sweep_run, "put_manifest", lambda target: calls.append("manifest"))
    monkeypatch.setattr(sweep_run, "prepare", lambda *arguments, **options: calls.append("prepare"))

    def happen(cell, aws):
        calls.append("flood")
        succeed(cell, aws, parallel_limit=int(cell.rpartition("=")[2]))

    sweep(happen, "parallel_limit=10,20", experiment=SHARES)[1].run()
    assert calls == ["manifest", "prepare", "flood", "prepare", "flood"] * 2


def test_a_run_keeps_the_prediction_that_it_began_with_and_the_endpoint_without_its_password(folder, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://me:secret@127.0.0.1:4566")
    plan = make_plan(EXPERIMENTS["download"], "aws", ["concurrency_value=1,2"], messages_per_concurrency=1)
    forecasts, parameters = predictions(plan), parameters_of(EXPERIMENTS["download"])
    for forecasts_now in (forecasts, {}):
        run = SweepRun(plan, folder, ESTIMATE, None, None)
        run.predicted(forecasts_now, parameters)
        run._description.write()
    stored = folder.read_json("run.json")
    predicted = stored["prediction"]
    assert predicted["cells"] == json.loads(json.dumps({name: row.as_dict() for name, row in forecasts.items()}))
    assert (predicted["place"], predicted["seed"], len(predicted["parameters"])) == ("aws", 1, len(parameters))
    assert (stored["target"], stored["endpoint_url"]) == ("endpoint", "http://127.0.0.1:4566")
    assert "secret" not in json.dumps(stored)


def test_a_sweep_on_aws_is_predicted_before_anything_is_applied(monkeypatch, tmp_path, capsys):
    seen = []
    monkeypatch.setattr(SweepRun, "predicted", lambda self, forecasts, parameters: seen.extend(forecasts))
    monkeypatch.setattr(SweepRun, "run", lambda self: in_vain())
    monkeypatch.setattr(stack_lock.stack, "ROOT", tmp_path)
    monkeypatch.setattr(verb.doctor, "refuse_if_impossible", lambda *_: None)

    def in_vain():
        raise RunError(f"applied after {seen}")

    settings = ["--set", "memory_size=2048", "--set", "concurrency_value=100", "--messages-per-concurrency", "1"]
    assert main(["sweep", "download", "--target", "aws", *settings, "--results-dir", str(tmp_path / "results")]) == 1
    said = capsys.readouterr().err
    assert "floods: memory_size=2048,concurrency_value=100: N is never reached" in said
    assert "applied after ['memory_size=2048,concurrency_value=100']" in said


@pytest.mark.parametrize(
    ("by", "answer", "stays_open", "wants"),
    [
        (None, "n", True, False),
        (None, "", True, True),
        (None, KeyboardInterrupt(), True, False),
        (None, EOFError(), False, True),  # closed at the question
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
