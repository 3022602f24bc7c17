"""A sweep finishes a cell only when all its messages have ended, and always reports one that it
can't account for."""

import signal
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from experiments import EXPERIMENTS
from experiments.parameters import known_parameters
from stampede.errors import RunError
from stampede.insights import log_columns
from stampede.planning.cost import estimate
from stampede.planning.plan import make_plan
from stampede.runs.account import check
from stampede.stacks import stack_lock
from stampede.sweep import sweep as sweep_run
from stampede.sweep.sweep import SweepRun
from tests.fakes.simulated_aws import EPOCH_MS, record
from tests.fakes.sweeps import ESTIMATE, sweeps_of
from tests.unit.loader.reads_experiment import READS, SMALL
from tests.unit.loader.shares_experiment import SHARES


@pytest.fixture
def sweep(aws, folder, monkeypatch):
    """Makes the sweep of two cells, with one message and with two."""
    of_plan = sweeps_of(aws, folder, monkeypatch)

    def make(happen, *more, experiment=EXPERIMENTS["download"]):
        settings = ["memory_size=1024", "concurrency_value=1,2", "object_size_mb=1", *more]
        plan = make_plan(experiment, "aws", settings, messages_per_concurrency=1, seed=3)
        return of_plan(plan, happen)

    return make


@pytest.fixture
def succeed(aws):
    def log(body, after_s=1, status="ok", seq=None, **more):
        settings = {
            "cell": body["cell"],
            "concurrency_limit": aws.outputs["concurrency_value"],
        } | more
        text = record(body["seq"] if seq is None else seq, status, **settings)
        aws.log(text, at_s=aws.now_s + 1, seen_at_s=aws.now_s + after_s)

    return log


def stored(folder):
    return folder.read_json("run.json")


def test_no_cell_starts_while_a_message_of_the_previous_one_is_in_flight(
    sweep, aws, succeed, folder, capsys
):
    def get_stuck(body):
        succeed(body, status="error")
        aws.hide(0, 1e9)

    stack, run = sweep(get_stuck)
    stack.keep = True
    with pytest.raises(
        RunError, match=r"messages in progress, so the sweep stops here.*2 in flight"
    ):
        run.run()
    assert capsys.readouterr().err.endswith(f"--resume {folder.as_argument} --keep`\n")
    assert (len(stack.steps), stack.steps[-1], stored(folder)["finished"]) == (3, "take down", {})


def test_an_unanswered_message_ends_its_cell_early_and_is_purged_before_the_next_one(
    sweep, aws, succeed, capsys
):
    aws.outputs.update(timeout_s=900, visibility_timeout_s=5400)
    _, run = sweep(lambda body: aws.hide(0, 1e9) if aws.now_s == 0 else succeed(body))
    first, second = run.run()
    assert (first.unanswered, first.unaccounted, second.succeeded) == (2, 0, 1)
    assert aws.hidden == [] and aws.now_s < 1800
    assert "1 cell left, about 12 s" in capsys.readouterr().err


def test_a_cell_whose_messages_all_fail_ends_the_sweep_and_a_resumed_one_runs_it_again(
    sweep, aws, succeed, folder, capsys
):
    def fail(body):
        rows = [{"cell": body["cell"], "seq": seq, "sent_at_ms": EPOCH_MS} for seq in range(1, 12)]
        folder.append("sent.jsonl", rows)
        for seq in range(10):
            succeed(body, status="error", seq=seq)
        aws.show(0, aws.now_s + 30)

    stack, run = sweep(fail)
    [account] = run.run()
    assert (account.failed, account.unanswered, account.unaccounted) == (10, 2, 0)
    assert (stored(folder)["finished"], stored(folder)["finished_at"]) == ({}, None)
    assert stack.steps[-1] == "take down"
    assert "--resume" in capsys.readouterr().err
    again, run = sweep(succeed)
    run.run()
    assert again.steps == ["open", *stack.steps[1:2], *{1, 2} - {stack.steps[1]}, "take down"]


def test_a_run_with_an_unaccounted_message_fails_again_when_resumed(sweep, succeed, folder, capsys):
    for happen, steps in ((lambda body: None, ["open", 2, 1, "take down"]), (succeed, [])):
        stack, run = sweep(happen)
        with pytest.raises(RunError, match="2 UNACCOUNTED"):
            check(run.run())
        assert (stack.steps, len(stored(folder)["finished"])) == (steps, 2)
    assert "3 messages have no record yet, and the log group" in capsys.readouterr().err


def test_a_line_that_arrives_during_the_next_cell_is_fetched_before_the_stack_goes(
    sweep, aws, succeed, folder
):
    def late_in_the_first(body):
        is_first = aws.now_s == 0
        succeed(body, after_s=700 if is_first else 1)
        aws.hide(0, aws.now_s if is_first else aws.now_s + 200)

    check(sweep(late_in_the_first)[1].run())
    columns = log_columns.stored(folder.path / "log_events.jsonl")
    assert columns is not None, "the columns lack the late line"


@pytest.mark.parametrize(
    ("owner", "has_end", "steps"),
    [
        ({}, True, []),
        ({"run_id": "r"}, False, ["open", "take down"]),
        ({"run_id": "x"}, False, []),
        ({}, False, []),
    ],
)
def test_a_complete_run_keeps_its_end_time_and_one_killed_after_its_last_cell_gets_one(
    sweep, aws, succeed, folder, monkeypatch, owner, has_end, steps
):
    monkeypatch.setattr(stack_lock, "owner", lambda kind: owner)
    accounts = sweep(succeed)[1].run()
    before = stored(folder) | {"finished_at": "before" if has_end else None}
    folder.write_json("run.json", before)
    stack, again = sweep(succeed)
    assert (again.run(), aws.floods, stack.steps) == (accounts, [], steps)
    assert stored(folder)["finished_at"] and (stored(folder) == before or not has_end)


def test_a_record_with_another_cells_settings_fails_the_check(sweep, succeed):
    with pytest.raises(RunError, match="settings other than the cell's"):
        check(sweep(lambda body: succeed(body, memory_size=2048))[1].run())


def test_cells_that_differ_only_in_their_work_orders_share_an_apply_and_its_objects(
    sweep, aws, folder, succeed, monkeypatch
):
    proven = []
    monkeypatch.setitem(EXPERIMENTS, "reads", READS.with_(proof=lambda values: {"proof": 1}))
    monkeypatch.setattr(
        sweep_run, "wait_for_permission", lambda target, cell, order: proven.append(order["proof"])
    )

    def happen(body):
        succeed(body, threads=body["threads"], dataset="large")
        stack.has_new_permissions = False  # only after the first apply

    stack, run = sweep(happen, "dataset=large", "threads=1,30", experiment=EXPERIMENTS["reads"])
    check(run.run())
    assert (sorted(stack.steps[1:-1]), len(aws.put), proven) == ([1, 2], 2 * (1 + len(SMALL)), [1])
    sent = {body["cell"]: body["threads"] for flood in aws.floods for body in flood}
    assert {name: int(name.rpartition("=")[2]) for name in sent} == sent and len(sent) == 4
    assert {row["cell"]: row["values"]["threads"] for row in stored(folder)["cells"]} == sent


def test_the_manifest_is_uploaded_once_per_stack_and_each_cell_is_prepared_before_its_flood(
    sweep, succeed, monkeypatch
):
    calls = []
    monkeypatch.setitem(EXPERIMENTS, "shares", SHARES)
    monkeypatch.setattr(sweep_run, "put_manifest", lambda target: calls.append("manifest"))

    def happen(body):
        calls.append("prepare" if "empty_first" in body else "flood")
        succeed(body, parallel_limit=body["parallel_limit"])

    sweep(happen, "parallel_limit=10,20", experiment=SHARES)[1].run()
    assert calls == ["manifest", *["prepare", *["flood"] * 4] * 2] * 2


def test_a_resumed_run_keeps_its_first_prediction(folder):
    experiment = EXPERIMENTS["download"]
    plan = make_plan(experiment, "aws", ["concurrency_value=1,2"], messages_per_concurrency=1)
    forecasts = estimate(plan).predictions()
    for forecasts_now in (forecasts, {}):
        run = SweepRun(plan, folder, ESTIMATE, None, None)
        run.predicted(forecasts_now, known_parameters("download"))
        run._description.write()
    assert stored(folder)["prediction"]["cells"].keys() == forecasts.keys()


@pytest.mark.parametrize(
    ("by", "answer", "wants"),
    [
        (None, ["n"], False),
        (None, [""], True),
        (None, KeyboardInterrupt(), False),
        (signal.SIGTERM, [], True),  # nobody may be there to answer
    ],
)
def test_the_stack_is_destroyed_unless_the_user_declines(monkeypatch, by, answer, wants):
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr("builtins.input", Mock(side_effect=answer))
    monkeypatch.setattr(sweep_run.signals, "first", by)
    assert sweep_run._wants_destroy() == wants
