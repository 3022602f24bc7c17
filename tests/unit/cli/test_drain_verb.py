"""Which run `stampede drain` waits for, and what it prints where that run's stack is gone or another one is applied."""

from types import SimpleNamespace

import pytest

from loader.drain import Drained
from stampede.cli.command_line import main
from stampede.cli.verbs import drain
from stampede.runs.folder import RunFolder
from stampede.stacks import target as targets
from stampede.stacks.target import Target

ACCOUNT = "cell  sent  succeeded  failed  dead_lettered  unaccounted"


@pytest.fixture
def drained(monkeypatch, tmp_path):
    """Runs of a file system and of a copy, newest last; gives the ids of the runs that were waited for."""
    monkeypatch.chdir(tmp_path)
    waited = []

    def wait(target, folder, **options):
        waited.append(folder.run_id)
        return Drained([])

    monkeypatch.setattr(drain, "drain", wait)
    for seconds, experiment in enumerate(("filesystem", "copy")):
        folder = RunFolder.create(tmp_path / "results", f"of_{experiment}")
        place = {"target": "local", "account": {"account_id": "1", "region": "us-east-1"}}
        folder.write_json("run.json", {"run_id": folder.run_id, "experiment": experiment} | place)
        folder.append("sent.jsonl", [{"cell": "a", "seq": 0, "sent_at_ms": seconds}])
    return waited


@pytest.fixture
def applied(monkeypatch):
    """Applies the stack of an experiment, before the runs or later, or none."""

    def apply(experiment, created_s=0):
        outputs = {"experiment": experiment, "region": "us-east-1", "account_id": "1", "queue_url": "q"}
        queue = {"Attributes": {"CreatedTimestamp": str(created_s)}}

        def resolve(arguments):
            if experiment is None:
                raise targets.NoStackError("no applied stack found; deploy one")
            return Target("local", outputs, "http://x")

        monkeypatch.setattr(targets, "resolve", resolve)
        sqs = SimpleNamespace(get_queue_attributes=lambda QueueUrl, AttributeNames: queue)
        monkeypatch.setattr(Target, "client", lambda self, service: sqs)

    return apply


def test_the_newest_run_of_the_applied_stack_is_waited_for(drained, applied, capsys):
    applied("filesystem")
    assert main(["drain"]) == 0
    assert drained == ["of_filesystem"]
    assert "run of_filesystem: the newest of the applied stack" in capsys.readouterr().err


def test_a_stack_without_a_run_is_refused_with_both_experiments(drained, applied, capsys):
    applied("express")
    assert (main(["drain"]), drained) == (2, [])
    assert capsys.readouterr().err == (
        "stampede: --run: the newest run of_copy is of copy in us-east-1, but the applied stack is express in "
        "us-east-1 and has no run; use `stampede flood` first, or --run of_copy for the stored account\n"
    )


def test_a_stack_that_is_younger_than_the_newest_run_asks_for_a_flood_first(drained, applied, capsys):
    applied("copy", created_s=1)
    assert (main(["drain"]), drained) == (2, [])
    assert capsys.readouterr().err == (
        "stampede: --run: the newest run of_copy was sent to an earlier stack, and the applied one has no run in "
        "results; use `stampede flood` first, or --run of_copy for the stored account\n"
    )


@pytest.mark.parametrize(
    ("experiment", "why"),
    [
        (None, "no applied stack found"),
        ("copy", "the applied stack is copy in us-east-1"),
        ("filesystem", "the applied stack was created after its last message"),
    ],
)
def test_a_run_whose_stack_is_gone_prints_its_stored_account(drained, applied, capsys, tmp_path, experiment, why):
    folder = RunFolder(tmp_path / "results" / "of_filesystem")
    folder.append("records.jsonl", [{"cell": "a", "seq": 0, "status": "ok"}])
    folder.write_json("accounting.json", [{"cell": "a"}])
    applied(experiment, created_s=1)
    assert (main(["drain", "--run", "of_filesystem"]), drained) == (0, [])
    printed = capsys.readouterr()
    assert printed.out.startswith(ACCOUNT)
    assert printed.err == (f"the stack of run of_filesystem is gone ({why}); this is the account stored with the run\n")


def test_messages_that_were_given_up_come_with_the_query_that_shows_why(drained, applied, capsys, tmp_path):
    folder = RunFolder(tmp_path / "results" / "of_filesystem")
    folder.append("dead_letters.jsonl", [{"cell": "a", "seq": 0, "message_id": "m"}])
    folder.write_json("accounting.json", [{"cell": "a"}])
    applied(None)
    assert main(["drain", "--run", "of_filesystem"]) == 1
    *_, why, last = capsys.readouterr().err.splitlines()
    assert why == "1 message never succeeded: `stampede query errors --run of_filesystem` shows why"
    assert "no message succeeded in 1 cell" in last


@pytest.mark.parametrize(
    ("name", "left", "words"),
    [
        ("sent.jsonl", None, "is missing: the stored account has 2 sent in a, and the files add up to 0"),
        ("sent.jsonl", 1, "has lost lines: the stored account has 2 sent in a, and the files add up to 1"),
        ("records.jsonl", 0, "has lost lines: the stored account has 1 succeeded in a, and the files add up to 0"),
        (
            "dead_letters.jsonl",
            0,
            "has lost lines: the stored account has 2 succeeded + dead_lettered in a, and the files add up to 1",
        ),
    ],
)
def test_files_that_have_lost_lines_of_the_stored_account_are_named(
    drained, applied, capsys, tmp_path, name, left, words
):
    folder = RunFolder(tmp_path / "results" / "of_filesystem")
    folder.append("sent.jsonl", [{"cell": "a", "seq": 1, "sent_at_ms": 1}])
    folder.append("records.jsonl", [{"cell": "a", "seq": 0, "status": "ok"}])
    folder.append("dead_letters.jsonl", [{"cell": "a", "seq": 1, "message_id": "m"}])
    folder.write_json("accounting.json", [{"cell": "a", "sent": 2, "succeeded": 1, "dead_lettered": 1}])
    applied(None)
    assert main(["drain", "--run", "of_filesystem"]) == 0
    assert "this is the account stored with the run" in capsys.readouterr().err
    path = folder.path / name
    if left is None:
        path.unlink()
    else:
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:left]))
    assert main(["drain", "--run", "of_filesystem"]) == 1
    printed = capsys.readouterr().err
    assert "this is what its files still add up to" in printed
    assert printed.endswith(f"of_filesystem/{name} {words}; restore that file from a copy\n")


def test_what_was_sent_or_set_aside_since_the_last_drain_is_no_loss(drained, applied, tmp_path):
    folder = RunFolder(tmp_path / "results" / "of_filesystem")
    folder.append("records.jsonl", [{"cell": "a", "seq": 0, "status": "ok"}])
    folder.write_json("accounting.json", [{"cell": "a", "sent": 0, "unaccounted": 0}, {"cell": "b", "sent": 1}])
    folder.append("abandoned.jsonl", [{"cell": "b", "seq": 0}])
    applied(None)
    assert main(["drain", "--run", "of_filesystem"]) == 0


def test_a_run_that_was_never_drained_and_whose_stack_is_gone_is_one_line(drained, applied, capsys):
    applied(None)
    assert main(["drain", "--run", "of_copy"]) == 2
    assert capsys.readouterr().err == (
        "stampede: --run: the stack of run of_copy is gone (no applied stack found), and results/of_copy has no "
        "accounting.json: the run was never drained, or the file was removed; restore it, or `stampede report "
        "results/of_copy` counts the other files\n"
    )


def test_a_run_folder_that_cannot_be_written_is_refused_before_anything_starts(drained, applied, capsys, monkeypatch):
    applied("copy")
    monkeypatch.setattr("os.access", lambda path, mode: path.name != "of_copy")  # root may write everywhere
    assert (main(["drain", "--run", "of_copy"]), drained) == (2, [])
    assert capsys.readouterr().err.startswith(
        "stampede: --run: results/of_copy is read-only for you; make it writable, or copy the run into another folder"
    )


def test_ctrl_c_says_that_the_run_goes_on_and_how_to_resume(drained, applied, capsys, monkeypatch):
    def interrupted(*_, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(drain, "drain", interrupted)
    applied("copy")
    assert main(["drain"]) == 130
    assert capsys.readouterr().err == (
        "run of_copy: the newest\nstampede drain: interrupted; the messages in the queue are still being processed; "
        "`stampede drain --run of_copy` resumes\n"
    )
