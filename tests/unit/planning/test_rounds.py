"""Cells that share a stack run in rounds: shuffled, each with its share, and whole again after a kill."""

import json
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments import EXPERIMENTS
from loader import collecting, flood
from loader.drain import drain, wait_for_round
from loader.sqs.outcome import Accepted, Outcome
from stampede.errors import RunError, UsageError
from stampede.planning.plan import Plan, make_plan, share_of_round, with_rounds
from stampede.runs.account import check
from stampede.runs.description import RunDescription
from stampede.runs.folder import RunFolder
from stampede.sweep import sweep as sweep_run
from stampede.sweep.sweep import SweepRun
from tests.fakes.own_sleep import replace_sleep
from tests.fakes.simulated_aws import EPOCH_MS, OUTPUTS, SimulatedAws, record
from tests.unit.loader.reads_experiment import READS
from tests.unit.loader.shares_experiment import SHARES
from tests.unit.sweep.test_sweep_run import ESTIMATE, Stack

SETTINGS = ["memory_size=1024", "dataset=large", "threads=1,30"]


@pytest.fixture(autouse=True)
def experiments(monkeypatch):
    monkeypatch.setitem(EXPERIMENTS, "reads", READS)
    monkeypatch.setitem(EXPERIMENTS, "shares", SHARES)


def plan_of(*settings, experiment=READS, round_count=None, messages=10, **options):
    EXPERIMENTS[experiment.name] = experiment
    plan = make_plan(experiment, "aws", [*settings], messages_per_concurrency=messages, **options)
    return with_rounds(plan, round_count)


def rounds(*settings, **options):
    return {cell.rounds for cell in plan_of(*SETTINGS, *settings, **options).cells}


def test_there_are_as_many_rounds_as_messages_at_n_1_and_five_else_and_no_share_is_smaller_than_n():
    assert rounds("concurrency_value=1") == {10}
    assert rounds("concurrency_value=4") == {5}
    assert rounds("concurrency_value=4", messages=3) == {3}
    assert rounds("concurrency_value=4", round_count=7) == {7}
    assert rounds("concurrency_value=4", round_count=100) == {10}
    assert rounds("concurrency_value=4", messages=1) == rounds("concurrency_value=1", round_count=1) == {1}


def test_cells_that_need_an_apply_or_share_a_list_have_no_rounds():
    for plan in (
        plan_of("concurrency_value=1,2", experiment=EXPERIMENTS["download"]),
        plan_of(experiment=SHARES.with_(preparation=lambda values: {"empty_first": 1})),
        plan_of("memory_size=512,1024", "dataset=large", "threads=1"),
    ):
        assert {cell.rounds for cell in plan.cells} == {1}
    with pytest.raises(UsageError, match="--rounds 3: no cells of this sweep can be interleaved"):
        plan_of(experiment=EXPERIMENTS["download"], round_count=3)


@given(st.integers(1, 300), st.integers(1, 300), st.integers(1, 1000))
def test_the_shares_of_a_cell_are_its_messages_and_differ_by_one_at_most(rounds, count, seed):
    shares = [share_of_round(count, rounds, number) for number in range(1, rounds + 1)]
    assert [index for share in shares for index in share] == [*range(count)]
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_each_round_has_an_order_of_its_own_which_the_seed_decides():
    def orders(seed):
        plan = plan_of("memory_size=1024", "concurrency_value=1", "threads=1,2,3,4", seed=seed)
        [block] = plan.blocks()
        return [[cell.name for cell in plan.in_round(block, number)] for number in range(1, 11)]

    first = orders(1)
    assert first == orders(1) != orders(2)
    assert len({tuple(order) for order in first}) > 5
    assert {tuple(sorted(order)) for order in first} == {tuple(sorted(first[0]))}


def test_a_stored_plan_keeps_its_rounds():
    plan = plan_of(*SETTINGS, "concurrency_value=1", repeats=2)
    cells = [cell.as_json() for cell in plan.cells]
    stored = Plan.from_run(json.loads(json.dumps({"experiment": "reads", "plan": plan.as_dict(), "cells": cells})))
    assert (stored, stored.blocks()) == (plan, plan.blocks())
    assert [len(block) for block in plan.blocks()] == [2, 2]


# Carried out.


@pytest.fixture
def folder(tmp_path):
    return RunFolder.create(tmp_path, "r")


@pytest.fixture
def aws(monkeypatch):
    outputs = {"memory_size": 1024, "method": "stream", "sink": "discard", "object_key": "k", "queue_name": "q"}
    stack = SimulatedAws("aws", OUTPUTS | outputs)
    monkeypatch.setattr(collecting.time, "time", lambda: EPOCH_MS / 1000 + stack.now_s)
    replace_sleep(monkeypatch, sweep_run, stack.sleep)
    return stack


@pytest.fixture
def sweep(aws, folder, monkeypatch):
    """Runs the sweep of two cells of one stack; `happen(body)` says what becomes of a message, else it succeeds."""
    monkeypatch.setattr(RunDescription, "describe", lambda self, target, terraform: None)
    monkeypatch.setattr(sweep_run, "put_objects", lambda *_: None)
    clocked = {"clock": aws.clock, "sleep": aws.sleep}
    monkeypatch.setattr(sweep_run, "drain", lambda *a, **o: drain(*a, **o, **clocked))
    monkeypatch.setattr(sweep_run, "wait_for_round", lambda *a, **o: wait_for_round(*a, **o, **clocked))
    monkeypatch.setattr(SimulatedAws, "purge_queue", lambda self, QueueUrl: self.hidden.clear(), raising=False)
    sent = []

    def send(target, queue_url, orders, accepted):
        bodies = [json.loads(order.body) for order in orders]
        accepted([Accepted(body["seq"], "m", EPOCH_MS + int(aws.now_s * 1000), 0) for body in bodies])
        for body in bodies:
            sent.append((body.get("round"), body["threads"], body["seq"], aws.now_s))
            run.happen(body)
        return Outcome(sent=len(bodies))

    monkeypatch.setattr("loader.flood.send", send)

    def run(happen=None, settings=("concurrency_value=1",), **options):
        run.happen = happen or (lambda body: succeed(aws, body))
        plan = plan_of(*SETTINGS, *settings, seed=3, **options)
        check(SweepRun(plan, folder, ESTIMATE, Stack(aws), None).run())
        return sent

    return run


def succeed(aws, body, after_s=1.0, at_work=True, **more):
    own = {name: body[name] for name in ("threads", "dataset", "round", "warm_up") if name in body}
    text = record(body["seq"], cell=body["cell"], concurrency_limit=1, **own, **more)
    aws.log(text, at_s=aws.now_s + after_s)
    if at_work:
        aws.hide(aws.now_s, aws.now_s + after_s)


def test_every_round_has_a_share_of_both_cells_and_none_begins_before_the_last_is_done(sweep, aws, folder):
    sent = sweep(messages=6)
    assert [number for number, *_ in sent] == [number for number in range(1, 7) for _ in range(2)]
    assert Counter(threads for _, threads, *_ in sent) == {1: 6, 30: 6}
    assert {threads for _, threads, *_ in sent[::2]} == {1, 30}, "the order isn't shuffled"
    assert [seq for _, threads, seq, _ in sent if threads == 1] == [*range(6)]
    times = [at_s for *_, at_s in sent]
    assert all(later - earlier >= 1 for earlier, later in pairwise(times))
    assert len(folder.read_json("run.json")["cells"]) == 2
    assert {row["round"] for row in folder.rows("records.jsonl")} == {*range(1, 7)}


def test_a_cell_that_fails_in_all_rounds_so_far_ends_the_sweep_between_two_of_them(sweep, aws):
    def fail(body):
        own = {"concurrency_limit": 1, "threads": body["threads"], "dataset": "large", "round": body["round"]}
        aws.log(record(body["seq"], "error", cell=body["cell"], **own), at_s=aws.now_s + 1)
        aws.hide(aws.now_s, aws.now_s + 1)

    with pytest.raises(RunError, match="no message succeeded in 2 cells"):
        sweep(fail, messages=20)
    assert aws.now_s < 200


def test_no_round_waits_for_the_late_lines_of_a_message(sweep, aws):
    def lose_one(body):
        text = record(body["seq"], cell=body["cell"], concurrency_limit=1, threads=body["threads"], dataset="large")
        is_late = (body["round"], body["threads"]) == (2, 1)
        aws.log(text, at_s=aws.now_s + 1, seen_at_s=aws.now_s + (500 if is_late else 1))
        aws.hide(aws.now_s, aws.now_s + 1)

    sent = sweep(lose_one, messages=6)
    assert sent[-1][-1] < 200, "the sweep waited in round 2 for the line that came after 500 s"


def test_a_failed_message_is_delivered_again_in_another_cells_round_and_counted_in_its_own(sweep, aws, folder):
    def fail_once(body):
        if (body["round"], body["threads"]) == (2, 1):
            own = {"concurrency_limit": 1, "threads": 1, "dataset": "large", "round": 2}
            aws.log(record(body["seq"], "error", cell=body["cell"], **own), at_s=aws.now_s + 1)
            aws.hide(aws.now_s, aws.now_s + 8)
            aws.log(record(body["seq"], cell=body["cell"], attempt=2, **own), at_s=aws.now_s + 8)
        else:
            succeed(aws, body)

    sent = sweep(fail_once, messages=6)
    times = [at_s for *_, at_s in sent]
    assert max(later - earlier for earlier, later in pairwise(times)) <= 4
    assert [(account["succeeded"], account["failed"]) for account in folder.read_json("accounting.json")] == [
        (6, 0)
    ] * 2


def test_a_crashed_message_holds_its_round_up_for_one_timeout_and_the_block_ends_with_it_unanswered(sweep, aws, folder):
    aws.outputs.update(timeout_s=60, visibility_timeout_s=5400)

    def crash(body):
        if (body["round"], body["threads"]) == (2, 1):
            aws.hide(aws.now_s, 1e9)
        else:
            succeed(aws, body)

    sent = sweep(crash, messages=6)
    times = [at_s for *_, at_s in sent]
    assert 150 < max(later - earlier for earlier, later in pairwise(times)) < 300
    assert sum(account["unanswered"] for account in folder.read_json("accounting.json")) == 1
    assert len(folder.read_json("run.json")["cells"]) == 2


def test_after_a_kill_the_rounds_that_were_done_stay_and_the_one_that_was_cut_off_runs_again(
    sweep, aws, folder, capsys
):
    def die_in_round_4(body):
        succeed(aws, body)
        if body["round"] == 4 and folder_has(2 * 3 + 1, folder):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(die_in_round_4, messages=6)
    assert "no cell has finished yet; completed rounds are kept; resume with `stampede" in capsys.readouterr().err
    assert folder.read_json("run.json")["finished"] == {}
    aws.reset()  # its lines went with the stack
    before = len(list(folder.rows("records.jsonl")))
    sent = sweep(messages=6)
    assert before == 2 * 3
    again = [(number, threads) for number, threads, *_ in sent[7:]]
    assert Counter(number for number, _ in again) == {4: 2, 5: 2, 6: 2}
    assert "resuming with round 4" in capsys.readouterr().err
    accounts = folder.read_json("accounting.json")
    assert [(account["sent"], account["succeeded"]) for account in accounts] == [(6, 6)] * 2
    rounds_of = Counter((row["cell"], row["round"]) for row in folder.rows("records.jsonl"))
    assert set(rounds_of.values()) == {1} and len(rounds_of) == 12


def test_what_floods_sent_that_were_killed_before_their_first_answer_is_left_out(sweep, aws, folder, monkeypatch):
    send, lost, purged = flood.send, [], []

    def die_in_round_2(target, queue_url, orders, accepted):
        [order] = orders
        body = json.loads(order.body)
        if body["round"] < 2:
            return send(target, queue_url, [order], accepted)
        lost.append((body["cell"], body["seq"]))
        succeed(aws, body)
        raise KeyboardInterrupt

    monkeypatch.setattr(SimulatedAws, "purge_queue", lambda self, QueueUrl: purged.append(QueueUrl))
    for _ in range(2):
        with monkeypatch.context() as killing, pytest.raises(KeyboardInterrupt):
            killing.setattr(flood, "send", die_in_round_2)
            sweep(messages=6)
    sweep(messages=6)
    assert purged == ["queue"] * 2, "the rest of it would run beside the new messages"
    assert len({*lost}) == 2, "a number was used twice"
    assert not {*lost} & {(row["cell"], row["seq"]) for row in folder.rows("sent.jsonl")}
    assert len(list(folder.rows("records.jsonl"))) == 2 * 6
    for account in folder.read_json("accounting.json"):
        assert (account["sent"], account["duplicates"], account["unexpected"]) == (6, 0, 0)


def folder_has(count, folder):
    return len(list(folder.rows("sent.jsonl"))) >= count


def test_warm_ups_come_once_before_all_rounds_and_are_in_none(sweep):
    sent = sweep(messages=5, warm_up_per_concurrency=2)
    assert [number for number, *_ in sent[:4]] == [None] * 4
    assert len(sent) == 4 + 2 * 5


def test_a_message_that_sqs_refuses_ends_the_sweep_after_its_round(sweep, monkeypatch):
    send = flood.send
    monkeypatch.setattr(flood, "send", lambda *a: replace(send(*a), failed=1, reason="no"))
    with pytest.raises(RunError, match="1 of 2 messages not accepted: no"):
        sweep(messages=5)
    monkeypatch.setattr(flood, "send", lambda *_: Outcome(failed=2, reason="no"))
    with pytest.raises(RunError, match="2 of 2 messages not accepted: no"):
        sweep(messages=5)
