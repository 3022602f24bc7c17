"""Messages that share a list of keys: each message names its share, and the destination is
prepared before."""

import json
from types import SimpleNamespace

import pytest

from experiments import EXPERIMENTS
from loader.cell_load import CellLoad, prepare
from stampede.cli.command_line import main
from stampede.errors import RunError
from stampede.experiment import DataObject
from stampede.planning.plan import make_plan
from stampede.stacks import target as targets
from stampede.sweep import sweep as sweep_run
from stampede.sweep.sweep import SweepRun
from tests.fakes.own_sleep import replace_sleep
from tests.fakes.simulated_aws import record
from tests.unit.loader.shares_experiment import PLAN, SHARES

STACK = {"experiment": "shares", "queue_name": "q", "account_id": "1", "timeout_s": 900}
STACK |= {"memory_size": 512, "concurrency_value": 2, "method": "stream", "sink": "discard"}
SHARES_OF_FOUR = [PLAN.share(4, index) for index in range(4)]


@pytest.fixture(autouse=True)
def stack(aws, monkeypatch):
    """A stack on which every message succeeds."""
    monkeypatch.setitem(EXPERIMENTS, "shares", SHARES)
    aws.outputs.update(STACK)
    vars(aws)["happen"] = lambda body: end(aws, body, parallel_limit=body["parallel_limit"])


def end(aws, body, status="ok", **more):
    settings = {"concurrency_limit": 2, "memory_size": 512}
    aws.log(record(body["seq"], status, cell=body["cell"], **settings, **more), at_s=aws.now_s + 1)


def shares(bodies):
    return [(body["first_slice"], body["slices"]) for body in bodies]


def test_a_cell_is_not_flooded_if_its_preparation_failed(aws, folder):
    def fail(body):
        end(
            aws, body, "error", error_type="DestinationNotEmpty", error_message="3 objects are left"
        )
        aws.bury(5, run_id="r", cell="a", seq=body["seq"])

    vars(aws)["happen"] = fail
    with pytest.raises(RunError, match=r"a could not be prepared.*DestinationNotEmpty: 3 objects"):
        prepare(aws, folder, "a", CellLoad.of(aws, {"parallel_limit": 10}, []))


def test_the_flood_of_an_interrupted_cell_starts_again_with_the_first_share(
    aws, folder, monkeypatch
):
    """Sequence numbers are never reused, but shares are."""
    plan = make_plan(SHARES, "aws", ["parallel_limit=10"], messages_per_concurrency=1)
    [cell] = plan.cells
    folder.append(
        "sent.jsonl", [{"cell": cell.name, "seq": seq, "sent_at_ms": 1} for seq in range(3)]
    )
    waits = []
    replace_sleep(monkeypatch, sweep_run, waits.append)
    SweepRun(plan, folder, SimpleNamespace(as_dict=dict), None, None)._block(aws, [cell])
    [preparing], flood = aws.floods
    assert preparing["empty_first"] == 1 and flood[0]["seq"] > preparing["seq"] > 3 + 900
    assert shares(flood) == SHARES_OF_FOUR
    assert waits == [60 + 900], "earlier workers may still copy to the emptied prefix"


def test_warm_ups_beyond_the_list_begin_again_with_its_first_share(aws):
    load = CellLoad.of(aws, {"parallel_limit": 10}, [])
    assert shares(map(load.share, range(6))) == [*SHARES_OF_FOUR, *SHARES_OF_FOUR[:2]]


@pytest.fixture
def by_hand(tmp_path, monkeypatch, capsys, aws):
    """Runs `stampede flood` on the stack; returns status, stdout and stderr."""
    monkeypatch.setattr(targets, "resolve", lambda option: aws)
    monkeypatch.setattr("loader.dataset.stored_objects", lambda target: [DataObject("k", 5)])
    monkeypatch.setattr("loader.dataset.check_manifest", lambda target: None)

    def run(*arguments):
        status = main(["flood", "--results-dir", str(tmp_path), *arguments])
        printed = capsys.readouterr()
        return status, printed.out, " ".join(printed.err.split())

    return run


def test_a_manual_flood_prepares_the_destination_and_refuses_while_messages_are_in_flight(
    by_hand, aws, folder
):
    status, out, err = by_hand("--dry-run")
    assert (status, shares([json.loads(out)]), aws.floods) == (0, SHARES_OF_FOUR[:1], [])
    assert "'empty_first': 1" in err and "would send 4 messages to q" in err
    assert by_hand("--run", "r", "--order", "parallel_limit=20")[0] == 0
    assert [row["warm_up"] for row in folder.rows("sent.jsonl")] == [1, 0, 0, 0, 0]
    [preparing], flood = aws.floods
    assert preparing["empty_first"] == 1 and not any("empty_first" in body for body in flood)
    assert [body["seq"] for body in (preparing, *flood)] == [0, 1, 2, 3, 4]
    assert shares(flood) == SHARES_OF_FOUR and flood[0]["manifest"] == PLAN.manifest
    aws.hide(0, 60)
    status, _, err = by_hand("--run", "s")
    assert (status, len(aws.floods), (folder.path.parent / "s").exists()) == (2, 2, False)
    assert "1 earlier message" in err and "`stampede drain`" in err


@pytest.mark.parametrize(
    ("described", "words"),
    [
        ({"experiment": "copy"}, "it is of copy"),
        ({"account": {"region": "us-east-1", "account_id": "2"}}, "account 2"),
        ({"plan": {"seed": 1}}, "is a sweep"),
        ({"format": 1}, "format 1"),
        (None, "takes 4 messages"),
    ],
)
def test_a_manual_flood_that_could_not_be_accounted_for_is_refused(
    by_hand, aws, folder, described, words
):
    if described:
        folder.write_json("run.json", {"run_id": "r", "experiment": "shares"} | described)
    status, out, err = by_hand("--run", "r", *([] if described else ["--messages", "3"]))
    assert (status, out, aws.floods, words in err) == (2, "", [], True)
