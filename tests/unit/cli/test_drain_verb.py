"""The run that `stampede drain` waits for, and its output if the run's stack is gone or another is
applied."""

from types import SimpleNamespace

import pytest

from loader.drain import Drained
from stampede.runs.account import stored_accounts
from stampede.runs.folder import RunFolder
from stampede.stacks import target as targets
from stampede.stacks.target import Target

ACCOUNT = "cell  sent  succeeded  failed  dead_lettered  unaccounted"


@pytest.fixture
def waited(monkeypatch, tmp_path):
    """Runs of a file system and of a copy, newest last; the list of run ids that are waited for."""
    waited = []

    def wait(target, folder, **options):
        waited.append(folder.run_id)
        return Drained([])

    monkeypatch.setattr("loader.drain.drain", wait)
    for seconds, experiment in enumerate(("filesystem", "copy")):
        folder = RunFolder.create(tmp_path / "results", f"of_{experiment}")
        place = {"target": "local", "account": {"account_id": "1", "region": "us-east-1"}}
        folder.write_json("run.json", {"run_id": folder.run_id, "experiment": experiment} | place)
        folder.append("sent.jsonl", [{"cell": "a", "seq": 0, "sent_at_ms": seconds}])
    return waited


@pytest.fixture
def drain(stampede, waited, monkeypatch):
    """A function that runs the verb with an experiment's stack applied, created before or after the
    runs, or with none."""

    def run(experiment, *arguments, created_s=0):
        outputs = {
            "experiment": experiment,
            "region": "us-east-1",
            "account_id": "1",
            "queue_url": "q",
        }
        queue = {"Attributes": {"CreatedTimestamp": str(created_s)}}

        def resolve(_):
            if experiment is None:
                raise targets.NoStackError("no applied stack found", "deploy one")
            return Target("local", outputs, "http://x")

        monkeypatch.setattr(targets, "resolve", resolve)
        sqs = SimpleNamespace(get_queue_attributes=lambda QueueUrl, AttributeNames: queue)
        monkeypatch.setattr(Target, "client", lambda self, service: sqs)
        return stampede("drain", *arguments)

    return run


@pytest.fixture
def folder(waited, tmp_path):
    """A drained run of a file system, with one message that succeeded and one dead letter."""
    folder = RunFolder(tmp_path / "results" / "of_filesystem")
    folder.append("sent.jsonl", [{"cell": "a", "seq": 1, "sent_at_ms": 1}])
    folder.append("records.jsonl", [{"cell": "a", "seq": 0, "status": "ok"}])
    folder.append("dead_letters.jsonl", [{"cell": "a", "seq": 1, "message_id": "m"}])
    folder.write_json(
        "accounting.json", [{"cell": "a", "sent": 2, "succeeded": 1, "dead_lettered": 1}]
    )
    return folder


def test_a_drain_waits_for_the_newest_run_of_the_applied_stack_or_the_given_one(drain, waited):
    assert "run of_filesystem: the newest of the applied stack" in drain("filesystem").err
    assert drain("copy", "--run", "results/of_copy").status == 0
    assert waited == ["of_filesystem", "of_copy"]


@pytest.mark.parametrize(
    ("experiment", "created_s", "words"),
    [("express", 0, "the applied stack is express"), ("copy", 1, "created after")],
)
def test_a_stack_that_has_no_run_asks_for_a_flood_first(
    drain, waited, experiment, created_s, words
):
    done = drain(experiment, created_s=created_s)
    assert (done.status, waited, done.err.count("\n")) == (2, [], 1)
    assert words in done.err and "--run of_copy" in done.err


@pytest.mark.parametrize(
    ("experiment", "why"), [(None, "no applied stack"), ("copy", "the applied stack is copy")]
)
def test_a_run_whose_stack_is_gone_prints_its_stored_account(
    drain, waited, folder, experiment, why
):
    done = drain(experiment, "--run", "of_filesystem")
    assert (done.status, waited, done.out.startswith(ACCOUNT)) == (0, [], True)
    gone, lost = done.err.splitlines()
    assert why in gone and "`stampede query errors --run of_filesystem`" in lost


@pytest.mark.parametrize(
    ("name", "kept", "words"),
    [
        ("sent.jsonl", None, "is missing"),
        (
            "dead_letters.jsonl",
            0,
            "has 2 succeeded + dead_lettered in a, and the files add up to 1",
        ),
    ],
)
def test_files_that_lost_lines_of_the_stored_account_are_named(drain, folder, name, kept, words):
    path = folder.path / name
    if kept is None:
        path.unlink()
    else:
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:kept]))
    done = drain(None, "--run", "of_filesystem")
    assert (done.status, name in done.err, words in done.err) == (1, True, True)


@pytest.mark.parametrize("experiment", ["filesystem", None])
def test_a_message_that_is_unaccounted_for_is_an_error_after_the_account(
    drain, waited, tmp_path, monkeypatch, experiment
):
    folder = RunFolder(tmp_path / "results" / "of_filesystem")
    folder.write_json("accounting.json", [{"cell": "a", "sent": 1}])
    monkeypatch.setattr("loader.drain.drain", lambda *_, **__: Drained(stored_accounts(folder)))
    done = drain(experiment, "--run", "of_filesystem")
    assert (done.status, done.out.startswith(ACCOUNT)) == (1, True)
    assert "UNACCOUNTED" in done.err


def test_messages_sent_or_set_aside_since_the_last_drain_are_no_loss(drain, folder):
    folder.write_json("accounting.json", [{"cell": "b", "sent": 1}])
    folder.append("abandoned.jsonl", [{"cell": "b", "seq": 0}])
    done = drain(None, "--run", "of_filesystem")
    assert (done.status, "never drained: a; " in done.err) == (0, True)


def test_a_run_without_a_drain_or_a_stack_is_refused_in_one_line(drain):
    done = drain(None, "--run", "of_copy")
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert "`stampede report results/of_copy`" in done.err


def test_ctrl_c_says_that_the_run_continues_and_how_to_resume(drain, monkeypatch):
    def interrupted(*_, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("loader.drain.drain", interrupted)
    done = drain("copy")
    assert (done.status, "`stampede drain --run of_copy` resumes" in done.err) == (130, True)
