"""The verbs by hand on an applied stack, and the embedded AWS that they may be tried on."""

import errno
import json
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from experiments import EXPERIMENTS
from loader.sqs.outcome import Outcome
from stampede.cli.verbs import emulator
from stampede.errors import RunError
from stampede.experiment import DataObject, Seeding
from stampede.finding import PROBLEM, Finding
from stampede.planning.checks import machine
from stampede.stacks import embedded, stack_lock
from tests.unit.loader.queries_experiment import QUERIES, QUERY
from tests.unit.loader.reads_experiment import READS
from tests.unit.loader.shares_experiment import SHARES

OUTPUTS = {"region": "us-east-1", "function_name": "f", "queue_name": "q", "bucket_name": "b", "object_key": "k"}
OUTPUTS |= {"object_size_mb": 1, "memory_size": 512, "concurrency_value": 3, "method": "download_file", "sink": "tmp"}


@pytest.fixture
def by_hand(stampede, apply, monkeypatch):
    """Runs a verb on the stack of an experiment."""
    monkeypatch.setattr("loader.dataset.stored_objects", lambda target: [DataObject("k", 5)])
    monkeypatch.setattr("loader.dataset.put_objects", lambda *arguments, **options: None)
    for name, experiment in {"reads": READS, "queries": QUERIES, "shares": SHARES}.items():
        monkeypatch.setitem(EXPERIMENTS, name, experiment)

    def run(experiment, *arguments, **outputs):
        apply(OUTPUTS | {"experiment": experiment} | outputs)
        return stampede(*arguments)

    return run


def test_a_flood_by_hand_takes_the_first_of_the_matrix_or_what_it_is_told(by_hand):
    done = by_hand("reads", "flood", "--dry-run")
    first = json.loads(done.out)
    assert (done.status, first["dataset"], first["threads"]) == (0, "large", 1)
    assert first["cell"] == "memory_size=512,concurrency_value=3,dataset=large,threads=1"
    assert "stack: aws, f in us-east-1" in done.err and "would send 30 messages to" in done.err
    done = by_hand(
        "reads", "flood", "--dry-run", "--messages", "1", "--order", "dataset=small", "--order", "threads=30"
    )
    first = json.loads(done.out)
    assert (first["dataset"], first["threads"]) == ("small", 30)
    assert first["cell"].endswith(",dataset=small,threads=30") and "would send 1 message to" in done.err


def test_a_flood_by_hand_of_queries_shows_what_athena_would_be_asked_and_has_it_carried_out(by_hand, monkeypatch):
    outputs, calls = {"operation": "count", "account_id": "1", "queue_url": "u"}, []

    def carry_out(*arguments, **more):
        calls.append((*arguments[2:], more))
        return Outcome(sent=2)

    monkeypatch.setattr("loader.executions.carry_out", carry_out)
    done = by_hand("queries", "flood", "--dry-run", **outputs)
    assert (done.status, done.out, calls) == (0, f"{QUERY.sql}\n", [])
    assert "would run 2 queries in Athena's workgroup w" in done.err
    assert by_hand("queries", "flood", "--cell", "a", **outputs).status == 0
    [(cell, count, execution, more)] = calls
    assert (cell, count, execution, more["share"](0)["objects"]) == ("a", 2, QUERY, 7)
    assert more["order"] == {"parallel_limit": 10, "object_count": 7}


@pytest.mark.parametrize(
    ("experiment", "command", "words"),
    [
        ("reads", "flood --order thread=3", "did you mean threads?"),
        ("reads", "flood --order threads=many", "whole number"),
        ("reads", "flood --order threads=1,2", "one value"),
        ("reads", "flood --order threads=1 --order threads=2", "more than once"),
        ("download", "flood --order threads=3", "leave it out"),
        ("download", "flood --payload p.json", "--payload"),
        ("uploads", "flood", ", ".join(EXPERIMENTS)),
        ("reads", "dataset --size-mb 3", "--size-mb"),
        ("reads", "dataset --remove", "terraform destroy"),
    ],
)
def test_what_doesnt_fit_the_stack_is_refused_in_one_line(by_hand, experiment, command, words):
    done = by_hand(experiment, *command.split())
    assert (done.status, done.out) == (2, "")
    assert words in done.err.splitlines()[-1]


def test_what_a_function_places_is_said_for_this_order_and_what_terraform_cant_empty_is_emptied(by_hand, monkeypatch):
    seeding = Seeding("placer", lambda values: [{"place": values["dataset"]}])
    placed = READS.with_(seeding=seeding, emptied_before_destroy=("kept", "none"))
    monkeypatch.setitem(EXPERIMENTS, "reads", placed)
    outputs, emptied = {"placer": "the-placer", "kept": "a-bucket"}, []
    order = ("--dry-run", "--order", "dataset=small")
    err = by_hand("reads", "dataset", *order, **outputs).err
    assert 'the-placer would seed what is missing: {"place": "small"}' in err
    monkeypatch.setattr("loader.emptying.empty", lambda _, bucket, dry_run: emptied.append((bucket, dry_run)))
    assert by_hand("reads", "dataset", "--remove", "--dry-run", **outputs).out == "s3://a-bucket\n"
    assert by_hand("reads", "dataset", "--remove", **outputs).status == 0
    assert emptied == [("a-bucket", True), ("a-bucket", False)]


@pytest.mark.parametrize(("end", "status"), [(KeyboardInterrupt(), 130), (OSError(errno.ENOSPC, "No space"), 1)])
def test_a_flood_that_is_cut_off_says_what_goes_on_and_how_to_resume(by_hand, monkeypatch, end, status):
    def interrupted(target, folder, cell, count, **options):
        folder.append("sent.jsonl", [{"cell": cell, "seq": seq, "sent_at_ms": 1} for seq in range(1200)])
        raise end

    monkeypatch.setattr("loader.flood.flood", interrupted)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    done = by_hand("reads", "flood", "--run", "r", queue_url="http://127.0.0.1:9/q", account_id="1")
    assert (done.status, "run r has sent 1,200 messages; `stampede drain --run r`" in done.err) == (status, True)


def test_a_flood_of_a_cell_that_the_run_has_already_may_not_know_all_that_was_sent(by_hand, monkeypatch, tmp_path):
    def sent(target, folder, cell, count, *, knows_all_sent, **options):
        told.append(knows_all_sent)
        return Outcome(sent=count)

    told, outputs = [], {"queue_url": "http://127.0.0.1:9/q", "account_id": "1"}
    monkeypatch.setattr("loader.flood.flood", sent)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    for cell in ("a", "a", "b"):
        assert by_hand("reads", "flood", "--run", "r", "--cell", cell, **outputs).status == 0
    assert told == [True, False, True]

    def refused(*_):
        raise RunError("no answer")

    monkeypatch.setattr("stampede.runs.description.RunDescription.add_cell", refused)
    assert by_hand("reads", "flood", "--run", "s", **outputs).status == 1
    assert [folder.name for folder in (tmp_path / "results").iterdir()] == ["r"], "one that sent nothing is removed"


def test_the_emulator_applies_what_its_experiment_fixes_locally(monkeypatch, tmp_path):
    monkeypatch.setitem(EXPERIMENTS, "reads", READS)
    fixed = {"experiment": "reads", "concurrency_value": 2, "object_size_mb": 2, "ephemeral_storage_mb": 512}
    assert emulator.local_variables([])["experiment"] == "download"
    assert emulator.local_variables(["experiment=reads", "object_size_mb=2"]) == fixed
    monkeypatch.setenv("TF_VAR_experiment", "reads")
    assert emulator.local_variables([])["concurrency_value"] == 2
    monkeypatch.chdir(tmp_path)
    values = emulator.local_variables(["experiment=function", "package=app", "handler=app.handler"])
    assert (values["package"], values["handler"]) == (str(tmp_path / "app"), "app.handler")


@pytest.mark.parametrize("command", [("emulator", "start", "--apply"), ("sweep", "download")])
def test_an_old_terraform_is_refused_before_the_embedded_aws_is_started(command, monkeypatch, stampede):
    old = Finding("terraform", PROBLEM, "terraform is version 1.5.7: 1.9 or newer is needed", "install a newer one")
    monkeypatch.setattr(machine, "terraform", lambda: old)
    monkeypatch.setattr(embedded, "start", lambda **_: pytest.fail("it was started"))
    done = stampede(*command)
    assert (done.status, "1.9 or newer is needed; install a newer one\n" in done.err) == (2, True)


@pytest.fixture
def started(monkeypatch):
    """An embedded AWS that starts at once."""
    monkeypatch.setattr(embedded, "start", lambda: SimpleNamespace(endpoint_url="http://x", access=None))
    monkeypatch.setattr(stack_lock, "holding", lambda *_: nullcontext())


def test_an_apply_that_ends_early_says_what_stays(monkeypatch, stampede, started):
    def fails(*_):
        raise RunError("terraform apply failed")

    monkeypatch.setattr(embedded, "apply_copy", fails)
    done = stampede("emulator", "start", "--apply")
    assert (done.status, "still runs at http://x" in done.err, "`stampede emulator stop`" in done.err) == (
        1,
        True,
        True,
    )


def test_a_start_says_what_to_do_next(monkeypatch, stampede, started):
    monkeypatch.setattr(embedded, "apply_copy", lambda *_: None)
    for resources, words in ((0, "`stampede emulator start --apply`"), (17, "`stampede dataset`, `stampede flood`")):
        monkeypatch.setattr("stampede.emulator.stack.applied_resources", lambda count=resources: count)
        done = stampede("emulator", "start", "--apply")
        assert (done.out, f"next: {words}" in done.err) == ("http://x\n", True)
