"""Messages that share a list of keys: each says its share by its place, and what is copied to is prepared before."""

import json

import pytest

from experiments import EXPERIMENTS
from loader import cell_load, collecting
from loader.cell_load import CellLoad, prepare
from loader.drain import drain
from loader.flood import orders
from loader.sqs.outcome import Outcome
from stampede.cli.command_line import main
from stampede.errors import RunError
from stampede.experiment import DataObject
from stampede.planning.plan import make_plan
from stampede.runs.folder import RunFolder
from stampede.stacks import target as targets
from stampede.sweep import sweep as sweep_run
from stampede.sweep.sweep import SweepRun
from tests.fakes.own_sleep import replace_sleep
from tests.fakes.simulated_aws import EPOCH_MS, OUTPUTS, SimulatedAws, record
from tests.unit.loader.shares_experiment import PLAN, SHARES

STACK = OUTPUTS | {"experiment": "shares", "memory_size": 512, "concurrency_value": 2, "queue_name": "q"}
IN_ORDER = {"parallel_limit": 10}


@pytest.fixture
def folder(tmp_path):
    return RunFolder.create(tmp_path, "r")


@pytest.fixture
def aws(monkeypatch):
    monkeypatch.setitem(EXPERIMENTS, "shares", SHARES)
    stack = SimulatedAws("aws", dict(STACK))
    monkeypatch.setattr(collecting.time, "time", lambda: EPOCH_MS / 1000 + stack.now_s)
    return stack


@pytest.fixture
def send(monkeypatch):
    """Floods go here: the bodies of each, by `send.floods`; `send.answer(body)` says what comes of a message."""

    class Sending:
        def __init__(self):
            self.floods, self.answer = [], lambda body: None

        def __call__(self, target, queue_url, orders, accepted):
            bodies = [json.loads(order.body) for order in orders]
            self.floods.append(bodies)
            accepted([(body["seq"], "m", EPOCH_MS + int(target.now_s * 1000), 0) for body in bodies])
            for body in bodies:
                self.answer(body)
            return Outcome(sent=len(bodies))

    sending = Sending()
    monkeypatch.setattr("loader.flood.send", sending)
    return sending


@pytest.fixture
def drained(aws):
    return lambda *arguments, **options: drain(*arguments, **options, clock=aws.clock, sleep=aws.sleep)


def does(aws, status="ok", **more):
    """What becomes of a message: its record, a second later."""
    return lambda body: aws.log(
        record(body["seq"], status, cell=body["cell"], concurrency_limit=2, memory_size=512, **more), at_s=aws.now_s + 1
    )


def test_each_order_says_its_share_by_its_place_in_the_flood_whatever_its_number():
    bodies = [
        json.loads(order.body) for order in orders("r", "a", 4, IN_ORDER, 960, lambda i: SHARES.of_message({}, i))
    ]
    assert [body["seq"] for body in bodies] == [960, 961, 962, 963]
    assert [(body["first_slice"], body["slices"]) for body in bodies] == [PLAN.share(4, index) for index in range(4)]
    assert all(body["manifest"] == PLAN.manifest and body["parallel_limit"] == 10 for body in bodies)


def test_a_cell_whose_preparation_failed_is_not_flooded(aws, folder, send, drained):
    def fail(body):
        does(aws, "error", error_type="DestinationNotEmpty", error_message="3 objects are left")(body)
        aws.bury(5, run_id="r", cell="a", seq=body["seq"])

    send.answer = fail
    with pytest.raises(RunError, match=r"a could not be prepared.*DestinationNotEmpty: 3 objects are left"):
        prepare(aws, folder, "a", CellLoad.of(aws, IN_ORDER, []), drained=drained)


@pytest.mark.parametrize(("function_name", "ends_s"), [("f", 900), (None, 40)], ids=["functions", "hosts"])
def test_a_flood_of_a_cell_that_was_cut_off_begins_with_the_first_share_again(
    aws, folder, send, drained, monkeypatch, function_name, ends_s
):
    """The old messages' numbers are never used again, but their shares are."""
    aws.outputs["function_name"] = function_name
    plan = make_plan(SHARES, "aws", ["parallel_limit=10"], messages_per_concurrency=1)
    [cell] = plan.cells
    folder.append("sent.jsonl", [{"cell": cell.name, "seq": seq, "sent_at_ms": 1, "warm_up": 0} for seq in range(3)])
    monkeypatch.setattr("stampede.sweep.sweep.drain", drained)
    waits = []
    replace_sleep(monkeypatch, sweep_run, waits.append)
    monkeypatch.setattr(SimulatedAws, "purge_queue", lambda self, QueueUrl: None, raising=False)
    send.answer = does(aws, parallel_limit=10)
    aws.outputs.update(
        {"timeout_s": 900, "object_key": "k", "object_size_mb": 1, "method": "stream", "sink": "discard"}
    )

    run = SweepRun(plan, folder, type("Cost", (), {"as_dict": lambda self: {}})(), None, None)
    run._block(aws, [cell])
    preparing, flood = send.floods
    assert len(preparing) == 1 and preparing[0]["empty_first"] == 1
    assert flood[0]["seq"] > preparing[0]["seq"] > 3 + 900
    assert [(message["first_slice"], message["slices"]) for message in flood] == [
        PLAN.share(4, index) for index in range(4)
    ]
    assert waits == [60 + ends_s], "who worked before may still copy into what is emptied"


# By hand.


@pytest.fixture
def by_hand(tmp_path, monkeypatch, capsys, aws):
    """Runs `stampede flood` on the stack; gives status, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(targets, "resolve", lambda option: aws)
    monkeypatch.setattr("loader.dataset.stored_objects", lambda target: [DataObject("k", 5)])
    monkeypatch.setattr("loader.manifest.check_manifest", lambda target: None)
    aws.outputs.update(
        {"account_id": "1", "object_key": "k", "method": "stream", "sink": "discard", "object_size_mb": 1}
    )

    def run(*arguments):
        status = main(["flood", "--results-dir", str(tmp_path), *arguments])
        printed = capsys.readouterr()
        return status, printed.out, " ".join(printed.err.split())

    return run


def test_a_flood_by_hand_prepares_first_and_says_so(by_hand, aws, send, drained, monkeypatch, tmp_path):
    monkeypatch.setattr(cell_load.prepare, "__kwdefaults__", {"drained": drained})
    send.answer = does(aws, parallel_limit=20)
    status, _, err = by_hand("--run", "r", "--order", "parallel_limit=20")
    assert status == 0
    assert "preparing memory_size=512,concurrency_value=2,parallel_limit=20" in err
    assert [row["warm_up"] for row in RunFolder(tmp_path / "r").rows("sent.jsonl")] == [1, 0, 0, 0, 0]
    preparing, flood = send.floods
    assert [body.get("empty_first") for body in (*preparing, *flood)] == [1, None, None, None, None]
    assert [body["seq"] for body in (*preparing, *flood)] == [0, 1, 2, 3, 4]
    assert [body["first_slice"] for body in flood] == [0, 1, 3, 4]


def test_a_flood_by_hand_beside_messages_at_work_is_refused_and_sends_nothing(by_hand, aws, send, tmp_path):
    aws.__dict__["in_flight_until_s"] = 60.0
    status, _, err = by_hand("--run", "r")
    assert (status, send.floods, (tmp_path / "r").exists()) == (2, [], False)
    assert "shares: 1 message of an earlier flood is in the queue or in progress" in err
    assert err.endswith("wait for them with `stampede drain`")


SHARED = {"run_id": "r", "experiment": "shares"}
ANOTHER_ACCOUNT = {"account": {"region": "us-east-1", "account_id": "2"}}


@pytest.mark.parametrize(
    ("described", "options", "words"),
    [
        (SHARED | {"experiment": "copy"}, ["--run", "r"], "--run: r is a run of copy in an unknown region, but"),
        (SHARED | ANOTHER_ACCOUNT, ["--run", "r"], "shares in us-east-1 of account 2, but the applied stack is"),
        (SHARED | {"plan": {"seed": 1}}, ["--run", "r"], "is a sweep"),
        (SHARED | {"format": 1}, ["--run", "r"], "format 1"),
        (SHARED, ["--messages", "3"], "takes 4 messages, which share one list of keys, got 3;"),
    ],
    ids=["another experiment", "another account", "a sweep", "the first edition", "not all shares"],
)
def test_a_flood_by_hand_that_could_not_be_accounted_for_is_refused(by_hand, send, folder, described, options, words):
    folder.write_json("run.json", described)
    status, out, err = by_hand(*options)
    assert (status, out, send.floods, words in err) == (2, "", [], True)


def test_a_dry_run_by_hand_shows_the_preparation_and_the_first_share(by_hand):
    status, out, err = by_hand("--dry-run")
    assert status == 0
    assert (json.loads(out)["first_slice"], json.loads(out)["slices"]) == (0, 1)
    assert '"empty_first": 1' in err and "would send 4 messages to q" in err
