"""Cells that share a stack run in shuffled rounds, each with its share, also after a kill."""

import json
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments import EXPERIMENTS
from loader.sqs import sending
from loader.sqs.message import Outcome
from stampede.errors import RunError, UsageError
from stampede.planning.plan import share_of_round, with_rounds
from stampede.runs.account import check
from tests.fakes.simulated_aws import SimulatedAws, record
from tests.fakes.sweeps import sweeps_of
from tests.unit.loader.reads_experiment import READS
from tests.unit.loader.shares_experiment import SHARES
from tests.unit.plans import plan

TWO_CELLS = "memory_size=1024 dataset=large threads=1,30 concurrency_value="


@pytest.fixture(autouse=True)
def experiments(monkeypatch):
    emptied = SHARES.with_(preparation=lambda values: {"empty_first": 1})
    for name, experiment in {"reads": READS, "shares": emptied}.items():
        monkeypatch.setitem(EXPERIMENTS, name, experiment)


def in_rounds(settings="", experiment="reads", asked=None, **options):
    return with_rounds(plan(settings, experiment, **options), asked)


@pytest.mark.parametrize(
    ("n", "each", "asked", "rounds"),
    [
        (1, 10, None, 10),  # as many as messages
        (4, 10, None, 5),
        (4, 3, None, 3),  # a share is at least N
        (4, 10, 7, 7),
        (4, 10, 100, 10),
        (4, 1, None, 1),
        (1, 10, 1, 1),
    ],
)
def test_there_are_five_rounds_or_at_n_1_as_many_as_messages(n, each, asked, rounds):
    assert {cell.rounds for cell in in_rounds(f"{TWO_CELLS}{n}", asked=asked, each=each).cells} == {
        rounds
    }


@pytest.mark.parametrize(
    ("settings", "experiment"),
    [
        ("concurrency_value=1,2", "download"),
        ("", "shares"),
        ("memory_size=512,1024 dataset=large threads=1", "reads"),
    ],
)
def test_cells_that_need_an_apply_or_share_a_list_have_no_rounds(settings, experiment):
    assert {cell.rounds for cell in in_rounds(settings, experiment).cells} == {1}
    with pytest.raises(UsageError, match="--rounds 3: no cells"):
        in_rounds(settings, experiment, asked=3)


@given(st.integers(1, 300), st.integers(1, 300))
def test_the_shares_of_a_cell_are_its_messages_and_differ_by_one_at_most(rounds, count):
    shares = [share_of_round(count, rounds, number) for number in range(1, rounds + 1)]
    assert [index for share in shares for index in share] == [*range(count)]
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_the_seed_decides_the_order_of_each_round():
    def orders(seed):
        made = in_rounds(
            "memory_size=1024 dataset=large concurrency_value=1 threads=1,2,3,4", seed=seed
        )
        [block] = made.blocks()
        rounds = [made.in_round(block, number) for number in range(1, 11)]
        return [tuple(cell.name for cell in cells) for cells in rounds]

    first = orders(1)
    assert first == orders(1) != orders(2)
    assert len({*first}) > 5 and len({frozenset(order) for order in first}) == 1


# Carried out.


@pytest.fixture
def sweep(aws, folder, monkeypatch):
    """A function that runs a sweep of two cells of one stack; `happen(aws, body)` decides what
    becomes of a message."""
    make, sent = sweeps_of(aws, folder, monkeypatch), []
    aws.outputs["visibility_timeout_s"] = 5400

    def run(happen, each=6, **options):
        def note_and_happen(body):
            sent.append((body.get("round"), body["threads"], body["seq"], aws.now_s))
            happen(aws, body)

        made = in_rounds(f"{TWO_CELLS}1", each=each, seed=3, **options)
        check(make(made, note_and_happen)[1].run())
        return sent

    return run


def end(aws, body, status="ok", after_s=1.0, seen_after_s=None, **more):
    """Let a message work for `after_s` seconds and log its line."""
    own = {
        name: body[name]
        for name in ("cell", "threads", "dataset", "round", "warm_up")
        if name in body
    }
    seen_at_s = seen_after_s and aws.now_s + seen_after_s
    text = record(body["seq"], status, concurrency_limit=1, **own, **more)
    aws.log(text, at_s=aws.now_s + after_s, seen_at_s=seen_at_s)
    aws.hide(aws.now_s, aws.now_s + after_s)


def accounts(folder, *names):
    stored = folder.read_json("accounting.json")
    return [tuple(account[name] for name in names) for account in stored]


def test_after_the_warm_ups_the_rounds_with_shares_of_both_cells_follow_each_other(sweep, folder):
    sent = sweep(end, warm_up_per_concurrency=2)
    two_each = [number for number in range(1, 7) for _ in range(2)]
    assert [number for number, *_ in sent] == [None] * 4 + two_each
    rounds = sent[4:]
    assert Counter(threads for _, threads, *_ in rounds) == {1: 6, 30: 6}
    assert {threads for _, threads, *_ in rounds[::2]} == {1, 30}, "the order isn't shuffled"
    seqs = [seq for _, threads, seq, _ in rounds if threads == 1]
    assert seqs == [*range(seqs[0], seqs[0] + 6)]
    assert all(later[-1] - earlier[-1] >= 1 for earlier, later in pairwise(rounds))
    assert len(folder.read_json("run.json")["cells"]) == 2
    assert {row["round"] for row in folder.rows("records.jsonl") if not row.get("warm_up")} == {
        *range(1, 7)
    }


def test_a_cell_that_failed_in_all_rounds_so_far_ends_the_sweep_after_a_round(sweep, aws):
    with pytest.raises(RunError, match="no message succeeded in 2 cells"):
        sweep(lambda aws, body: end(aws, body, "error"), each=20)
    assert aws.now_s < 200


def is_late(aws, body):
    end(aws, body, seen_after_s=500)


def fails_once(aws, body):
    end(aws, body, "error")
    end(aws, body, after_s=8.0, attempt=2)


def crashes(aws, body):
    aws.hide(aws.now_s, 1e9)


@pytest.mark.parametrize(
    ("happen", "longest_s", "succeeded"),
    [
        (is_late, range(110), 12),  # its line is 500 s late
        # it is delivered again in another cell's round, and counted in its own
        (fails_once, range(5), 12),
        (crashes, range(150, 300), 11),  # one timeout, then the block ends without an answer
    ],
)
def test_no_round_waits_for_late_lines_or_retries_and_a_crash_costs_one_timeout(
    sweep, folder, happen, longest_s, succeeded
):
    sent = sweep(
        lambda aws, body: (happen if (body["round"], body["threads"]) == (2, 1) else end)(aws, body)
    )
    pauses_s = [later[-1] - earlier[-1] for earlier, later in pairwise(sent)]
    assert round(max(pauses_s)) in longest_s
    counts = accounts(folder, "succeeded", "failed", "unanswered")
    assert [sum(of_cells) for of_cells in zip(*counts, strict=True)] == [
        succeeded,
        0,
        12 - succeeded,
    ]
    assert len(folder.read_json("run.json")["cells"]) == 2


def test_after_a_kill_finished_rounds_stay_and_the_interrupted_round_runs_again(
    sweep, aws, folder, capsys
):
    def die_in_round_4(aws, body):
        end(aws, body)
        if body["round"] == 4 and len([*folder.rows("sent.jsonl")]) > 2 * 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(die_in_round_4)
    assert "resume with" in capsys.readouterr().err
    assert folder.read_json("run.json")["finished"] == {}
    assert len([*folder.rows("records.jsonl")]) == 2 * 3
    aws.reset()  # its lines went with the stack
    again = sweep(end)[7:]
    assert Counter(number for number, *_ in again) == {4: 2, 5: 2, 6: 2}
    assert "resuming with round 4" in capsys.readouterr().err
    assert accounts(folder, "sent", "succeeded") == [(6, 6)] * 2
    rounds_of = Counter((row["cell"], row["round"]) for row in folder.rows("records.jsonl"))
    assert {*rounds_of.values()} == {1} and len(rounds_of) == 12


def test_messages_of_a_flood_that_was_killed_before_its_first_answer_are_left_out(
    sweep, aws, folder, monkeypatch
):
    send, lost, purged = sending.send, [], []

    def die_in_round_2(target, orders, accepted):
        [order] = orders
        body = json.loads(order.body)
        if body["round"] < 2:
            return send(target, [order], accepted)
        lost.append((body["cell"], body["seq"]))
        end(aws, body)
        raise KeyboardInterrupt

    monkeypatch.setattr(SimulatedAws, "purge_queue", lambda self, QueueUrl: purged.append(QueueUrl))
    for _ in range(2):
        with monkeypatch.context() as killing, pytest.raises(KeyboardInterrupt):
            killing.setattr(sending, "send", die_in_round_2)
            sweep(end)
    sweep(end)
    assert purged == ["queue"] * 2, "its other messages would run with the new ones"
    assert len({*lost}) == 2, "a number was used twice"
    assert not {*lost} & {(row["cell"], row["seq"]) for row in folder.rows("sent.jsonl")}
    assert len([*folder.rows("records.jsonl")]) == 2 * 6
    assert accounts(folder, "sent", "duplicates", "unexpected") == [(6, 0, 0)] * 2


def test_a_message_that_sqs_refuses_ends_the_sweep_after_the_round(sweep, monkeypatch):
    send = sending.send
    answers = {
        "1 of 2": lambda *asked: replace(send(*asked), failed=1, reason="no"),
        "2 of 2": lambda *_: Outcome(failed=2, reason="no"),
    }
    for words, answer in answers.items():
        monkeypatch.setattr(sending, "send", answer)
        with pytest.raises(RunError, match=f"{words} messages not accepted: no"):
            sweep(end, each=5)
