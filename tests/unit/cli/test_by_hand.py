"""Single commands on an applied stack, and on the embedded AWS."""

import errno
import json

import pytest

from experiments import EXPERIMENTS
from loader.sqs.message import Outcome
from stampede.errors import RunError
from stampede.experiment import DataObject, Seeding
from stampede.finding import PROBLEM, Finding
from stampede.planning.checks import machine
from stampede.stacks import embedded
from tests.unit.loader.queries_experiment import QUERIES, QUERY
from tests.unit.loader.reads_experiment import READS
from tests.unit.loader.shares_experiment import SHARES

OUTPUTS = {
    "region": "us-east-1",
    "function_name": "f",
    "queue_name": "q",
    "bucket_name": "b",
    "object_key": "k",
}
OUTPUTS |= {
    "object_size_mb": 1,
    "memory_size": 512,
    "concurrency_value": 3,
    "method": "download_file",
    "sink": "tmp",
}
OUTPUTS |= {"account_id": "1", "queue_url": "http://127.0.0.1:9/q"}


@pytest.fixture
def by_hand(stampede, apply, monkeypatch):
    """A function that runs a verb on an experiment's stack."""
    monkeypatch.setattr("loader.dataset.stored_objects", lambda target: [DataObject("k", 5)])
    monkeypatch.setattr("loader.dataset.put_objects", lambda *arguments, **options: None)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    for name, experiment in {"reads": READS, "queries": QUERIES, "shares": SHARES}.items():
        monkeypatch.setitem(EXPERIMENTS, name, experiment)

    def run(experiment, *arguments, **outputs):
        apply(OUTPUTS | {"experiment": experiment} | outputs)
        return stampede(*arguments)

    return run


@pytest.mark.parametrize(
    ("options", "cell", "count"),
    [
        ("", "memory_size=512,concurrency_value=3,dataset=large,threads=1", "30 messages"),
        (
            "--messages 1 --order dataset=small --order threads=30",
            ",dataset=small,threads=30",
            "1 message",
        ),
    ],
)
def test_a_flood_by_hand_uses_the_first_values_of_the_matrix_or_its_options(
    by_hand, options, cell, count
):
    done = by_hand("reads", "flood", "--dry-run", *options.split())
    assert (done.status, json.loads(done.out)["cell"].endswith(cell)) == (0, True)
    assert f"would send {count} to" in done.err


def test_a_flood_of_queries_carries_them_out_and_its_dry_run_shows_them(by_hand, monkeypatch):
    calls = []

    def carry_out(target, folder, *arguments, **options):
        calls.append(arguments[:3])
        return Outcome(sent=2)

    monkeypatch.setattr("loader.cell_load.carry_out", carry_out)
    done = by_hand("queries", "flood", "--dry-run", operation="count")
    assert (done.status, done.out, calls) == (0, f"{QUERY.sql}\n", [])
    assert by_hand("queries", "flood", "--cell", "a", operation="count").status == 0
    assert calls == [("a", range(2), QUERY)]


def test_a_dry_run_of_a_data_set_uploads_and_seeds_nothing(by_hand, monkeypatch):
    placed = READS.with_(seeding=Seeding("placer", lambda order: [{"place": order["dataset"]}]))
    monkeypatch.setitem(EXPERIMENTS, "reads", placed)
    uploads, seeded = [], []
    monkeypatch.setattr("loader.dataset.put_objects", lambda *_, dry_run: uploads.append(dry_run))
    monkeypatch.setattr("loader.invocations.seed", lambda *_: seeded.append(True))
    command, outputs = ["dataset", "--order", "dataset=small"], {"placer": "the-placer"}
    done = by_hand("reads", *command, "--dry-run", **outputs)
    assert (done.status, uploads, seeded) == (0, [True], [])
    assert 'the-placer would write: {"place": "small"}' in done.err
    assert by_hand("reads", *command, **outputs).status == 0
    assert (uploads, seeded) == ([True, False], [True])


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
def test_an_option_that_does_not_fit_the_stack_is_refused_in_one_line(
    by_hand, experiment, command, words
):
    done = by_hand(experiment, *command.split())
    assert (done.status, done.out) == (2, "")
    assert words in done.err.splitlines()[-1]


def test_a_bucket_that_terraform_cannot_empty_is_emptied_except_in_a_dry_run(by_hand, monkeypatch):
    placed = READS.with_(emptied_before_destroy=("kept", "none"))
    monkeypatch.setitem(EXPERIMENTS, "reads", placed)
    emptied = []
    monkeypatch.setattr(
        "loader.dataset.empty", lambda _, bucket, dry_run: emptied.append((bucket, dry_run))
    )
    for options in (["--dry-run"], []):
        done = by_hand("reads", "dataset", "--remove", *options, kept="a-bucket")
        assert (done.out, emptied.pop()) == ("s3://a-bucket\n", ("a-bucket", bool(options)))


@pytest.mark.parametrize(
    ("end", "status"), [(KeyboardInterrupt(), 130), (OSError(errno.ENOSPC, "No space"), 1)]
)
def test_an_interrupted_flood_says_what_continues_and_how_to_resume(
    by_hand, monkeypatch, end, status
):
    def interrupted(target, folder, cell, *arguments, **options):
        folder.append(
            "sent.jsonl", [{"cell": cell, "seq": seq, "sent_at_ms": 1} for seq in range(1200)]
        )
        raise end

    monkeypatch.setattr("loader.cell_load.flood", interrupted)
    done = by_hand("reads", "flood", "--run", "r")
    assert done.status == status
    assert "run r has sent 1,200 messages; `stampede drain --run r`" in done.err


def test_a_second_flood_of_a_cell_may_not_know_all_sent_messages(by_hand, monkeypatch, tmp_path):
    def sent(target, folder, cell, indices, *arguments, knows_all_sent, **options):
        told.append(knows_all_sent)
        return Outcome(sent=len(indices))

    told = []
    monkeypatch.setattr("loader.cell_load.flood", sent)
    for cell in ("a", "a", "b"):
        assert by_hand("reads", "flood", "--run", "r", "--cell", cell).status == 0
    assert told == [True, False, True]

    def refused(*_):
        raise RunError("no answer")

    monkeypatch.setattr("stampede.runs.description.RunDescription.add_cell", refused)
    assert by_hand("reads", "flood", "--run", "s").status == 1
    # A run that sent nothing is removed.
    assert [folder.name for folder in (tmp_path / "results").iterdir()] == ["r"]


def test_an_old_terraform_is_refused_before_the_embedded_aws_is_started(monkeypatch, stampede):
    old = Finding(
        "terraform",
        PROBLEM,
        "terraform is version 1.5.7: 1.9 or newer is needed",
        "install a newer one",
    )
    monkeypatch.setattr(machine, "terraform", lambda: old)
    monkeypatch.setattr(embedded, "start", lambda **_: pytest.fail("it was started"))
    done = stampede("emulator", "start", "--apply")
    assert (done.status, "1.9 or newer is needed" in done.err) == (2, True)
