"""The verbs by hand for an experiment with axes of the work order; and what names no experiment that there is."""

import errno
import json
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from experiments import EXPERIMENTS
from loader.sqs.outcome import Outcome
from stampede.cli.command_line import main
from stampede.cli.verbs import dataset, emulator, flood, query
from stampede.errors import RunError
from stampede.experiment import DataObject, Seeding
from stampede.finding import PROBLEM, Finding
from stampede.planning.checks import machine
from tests.unit.loader.queries_experiment import QUERIES, QUERY
from tests.unit.loader.reads_experiment import READS
from tests.unit.loader.shares_experiment import SHARES

OUTPUTS = {
    "region": "us-east-1",
    "function_name": "f",
    "queue_name": "q",
    "bucket_name": "b",
    "object_key": "k",
    "object_size_mb": 1,
    "memory_size": 512,
    "concurrency_value": 3,
    "method": "download_file",
    "sink": "tmp",
}


@pytest.fixture
def by_hand(tmp_path, monkeypatch, capsys):
    """Runs a verb on the outputs of an experiment's stack; gives status, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(EXPERIMENTS, "reads", READS)
    monkeypatch.setattr(flood, "stored_objects", lambda target: [DataObject("k", 5)])

    def run(experiment, verb, *arguments):
        outputs = {name: {"value": value} for name, value in (OUTPUTS | {"experiment": experiment}).items()}
        (tmp_path / "o.json").write_text(json.dumps(outputs))
        status = main([verb, "--outputs", "o.json", "--target", "aws", *arguments])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


def test_a_flood_by_hand_takes_the_first_of_the_matrix_where_nothing_is_said(by_hand):
    status, out, err = by_hand("reads", "flood", "--dry-run")
    first = json.loads(out)
    assert (status, first["dataset"], first["threads"]) == (0, "large", 1)
    assert first["cell"] == "memory_size=512,concurrency_value=3,dataset=large,threads=1"
    assert "would send 30 messages to" in err
    assert "would send 1 message to" in by_hand("reads", "flood", "--dry-run", "--messages", "1")[2]


def test_a_stack_without_a_function_is_named_by_its_queue(by_hand, monkeypatch):
    monkeypatch.delitem(OUTPUTS, "function_name")
    status, _, err = by_hand("reads", "flood", "--dry-run")
    assert status == 0
    assert "stack: aws, q in us-east-1" in err


def test_a_flood_by_hand_of_queries_shows_what_athena_would_be_asked_and_has_it_carried_out(by_hand, monkeypatch):
    monkeypatch.setitem(EXPERIMENTS, "queries", QUERIES)
    for name, value in {"operation": "count", "account_id": "1", "queue_url": "u"}.items():
        monkeypatch.setitem(OUTPUTS, name, value)
    calls = []
    monkeypatch.setattr(
        flood, "carry_out", lambda *arguments, **more: calls.append((*arguments[2:], more)) or Outcome(sent=2)
    )
    monkeypatch.setattr(flood, "flood", None)

    status, out, err = by_hand("queries", "flood", "--dry-run")
    assert (status, out) == (0, f"{QUERY.sql}\n")
    assert "would run 2 queries in Athena's workgroup w" in err
    assert calls == []

    assert by_hand("queries", "flood", "--queue-name", "other")[0] == 2
    assert by_hand("queries", "flood", "--cell", "a")[0] == 0
    [(cell, count, execution, more)] = calls
    assert (cell, count, execution, more["share"](0)["objects"]) == ("a", 2, QUERY, 7)
    assert more["order"] == {"parallel_limit": 10, "object_count": 7}


def test_a_flood_by_hand_says_what_it_was_told(by_hand):
    _, out, _ = by_hand("reads", "flood", "--dry-run", "--order", "dataset=small", "--order", "threads=30")
    first = json.loads(out)
    assert (first["dataset"], first["threads"]) == ("small", 30)
    assert first["cell"].endswith(",dataset=small,threads=30")


@pytest.mark.parametrize(
    ("experiment", "order", "words"),
    [
        ("reads", "thread=3", "--order: the messages of reads have no key 'thread'; did you mean threads?"),
        ("reads", "colour=red", "have no key 'colour'; known: dataset, threads"),
        ("reads", "threads=many", "--order threads: must be a whole number of 1 or more, got 'many'"),
        ("reads", "threads=1,2", "--order threads: a flood has one value, got '1,2'; start a flood for each value"),
        ("reads", "threads", "--order: 'threads' isn't of the form KEY=VALUE"),
        ("copy", "parallel_limit=0", "--order parallel_limit: must be a whole number from 1 to 10,000, got 0"),
        ("copy", "calls_per_s=100001", "--order calls_per_s: must be a whole number from 0 to 100,000, got 100001"),
        ("copy_host", "parallel_limit=100000", "must be a whole number from 1 to 10,000, got 100000"),
        ("copy_host", "retry_attempts=51", "--order retry_attempts: must be a whole number from 1 to 50, got 51"),
        ("copy_host", "retry_mode=adaptive", "--order retry_mode: must be standard or legacy, got 'adaptive'"),
        ("copy_host", "pace=fast", "--order pace: must be fixed or adaptive, got 'fast'"),
        ("download", "threads=3", "--order: the messages of download have no key 'threads'; leave it out"),
    ],
)
def test_a_wrong_part_of_a_work_order_is_refused_in_one_line(by_hand, experiment, order, words):
    status, out, err = by_hand(experiment, "flood", "--order", order)
    assert (status, out) == (2, "")
    assert words in err.splitlines()[-1]


def test_the_size_of_a_data_set_of_many_objects_is_not_one_number(by_hand):
    status, _, err = by_hand("reads", "dataset", "--size-mb", "3")
    assert (status, err.splitlines()[-1]) == (
        2,
        "stampede: --size-mb: is for an experiment that reads one object, and reads doesn't; leave it out",
    )


def test_the_size_of_what_a_list_says_is_the_stacks(by_hand, monkeypatch):
    monkeypatch.setitem(EXPERIMENTS, "shares", SHARES)
    status, _, err = by_hand("shares", "dataset", "--size-mb", "3", "--dry-run")
    assert (status, "leave it out, and apply the stack with another size" in err) == (2, True)


@pytest.fixture
def seeding(monkeypatch):
    """The experiment of reads with a function that places what a cell reads, and a bucket that is emptied by hand."""
    placed = READS.with_(
        seeding=Seeding("placer", lambda values: [{"place": values["dataset"]}]),
        emptied_before_destroy=("kept", "none"),
    )
    monkeypatch.setitem(OUTPUTS, "placer", "the-placer")
    monkeypatch.setitem(OUTPUTS, "kept", "a-bucket")

    def put():
        monkeypatch.setitem(EXPERIMENTS, "reads", placed)
        monkeypatch.setattr(dataset, "put_objects", lambda *arguments, **options: None)

    return put


def test_a_dry_run_of_the_data_set_says_what_would_be_placed_for_this_order(by_hand, seeding):
    seeding()
    status, _, err = by_hand("reads", "dataset", "--dry-run", "--order", "dataset=small")
    assert status == 0
    assert 'the-placer would seed what is missing: {"place": "small"}' in " ".join(err.split())
    status, _, err = by_hand("reads", "flood", "--dry-run", "--order", "dataset=small")
    assert "needs the objects that `stampede dataset --order dataset=small` uploads" in " ".join(err.split())


def test_a_stack_that_reads_nothing_has_no_data_set_and_says_so(by_hand, monkeypatch):
    monkeypatch.setitem(EXPERIMENTS, "reads", READS.with_(objects=lambda outputs: ()))
    monkeypatch.setattr(dataset, "put_objects", lambda *arguments, **options: None)
    status, out, err = by_hand("reads", "dataset", "--dry-run")
    assert (status, out, "nothing to upload" in err) == (0, "", True)


def test_what_terraform_cant_empty_is_emptied_by_hand(by_hand, seeding, monkeypatch):
    seeding()
    emptied = []
    monkeypatch.setattr(dataset, "empty", lambda target, bucket, dry_run: emptied.append((bucket, dry_run)))
    assert by_hand("reads", "dataset", "--remove", "--dry-run")[:2] == (0, "s3://a-bucket\n")
    assert by_hand("reads", "dataset", "--remove")[0] == 0
    assert emptied == [("a-bucket", True), ("a-bucket", False)]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--remove"], "--remove: `terraform destroy` empties the buckets of reads itself; leave it out"),
        (
            ["--remove", "--order", "threads=3"],
            "--remove: deletes everything that is there; leave --size-mb and --order out",
        ),
    ],
)
def test_removing_what_terraform_removes_or_a_part_of_it_is_refused(by_hand, options, words):
    status, out, err = by_hand("reads", "dataset", *options)
    assert (status, out, err.splitlines()[-1]) == (2, "", f"stampede: {words}")


def test_the_stack_of_an_experiment_that_there_is_not_is_refused_with_those_that_there_are(by_hand):
    status, _, err = by_hand("uploads", "flood")
    assert status == 2
    assert f"is of the experiment 'uploads'; this version has {', '.join(EXPERIMENTS)}" in err


def test_the_emulator_applies_what_its_experiment_fixes_locally(monkeypatch):
    monkeypatch.setitem(EXPERIMENTS, "reads", READS)
    assert emulator._local([]) == {"experiment": "download"} | EXPERIMENTS["download"].matrices["local"].fixed
    assert emulator._local(["experiment=reads", "object_size_mb=2"]) == {
        "experiment": "reads",
        "concurrency_value": 2,
        "object_size_mb": 2,
        "ephemeral_storage_mb": 512,
    }
    monkeypatch.setenv("TF_VAR_experiment", "reads")
    assert emulator._local([])["concurrency_value"] == 2


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("experiment=uploads", "no experiment 'uploads'; use download"),
        ("memory_sise=1024", "infra/ has no variable 'memory_sise'; did you mean memory_size?"),
        ("object_count=3", "is a variable of copy; download doesn't use it"),
        ("memory_size=64", "memory_size: must be a whole number of MB from 128 to 10240, got 64"),
        ("memory_size=1024 memory_size=2048", "--set memory_size: given more than once; give it once"),
        ("memory_size=1024,2048", "a stack has one value of each variable, got 2; give one"),
    ],
)
def test_the_emulator_starts_nothing_for_a_setting_that_the_stack_does_not_have(setting, words, capsys):
    settings = [part for text in setting.split() for part in ("--set", text)]
    assert main(["emulator", "start", "--apply", *settings]) == 2
    assert words in capsys.readouterr().err


def test_the_emulator_takes_a_package_relative_to_the_current_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    values = emulator._local(["experiment=function", "package=app", "handler=app.handler"])
    assert (values["package"], values["handler"]) == (str(tmp_path / "app"), "app.handler")


@pytest.mark.parametrize("verb", ["sweep", "doctor"])
def test_an_unknown_experiment_is_one_line_that_names_those_that_there_are(verb, capsys):
    with pytest.raises(SystemExit) as left:
        main([verb, "ftp"])
    err = capsys.readouterr().err
    assert (left.value.code, err.count("\n")) == (2, 1)
    assert f"EXPERIMENT: invalid choice: 'ftp' (choose from {', '.join(map(repr, EXPERIMENTS))})" in err


@pytest.fixture
def saved(tmp_path, monkeypatch):
    """Saved queries of two experiments."""
    for name in ("download/summary", "download/speed", "reads/summary"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.cwli").write_text(f"of {name}")
    monkeypatch.setattr(query, "QUERIES", tmp_path)


def test_a_name_means_the_query_of_the_runs_experiment_and_else_the_only_one(saved):
    assert query.read_query("summary", "reads") == "of reads/summary"
    assert query.read_query("summary", "download") == "of download/summary"
    assert query.read_query("speed", "reads") == query.read_query("speed") == "of download/speed"
    assert query.read_query("download/summary", "reads") == "of download/summary"


def test_a_name_that_two_experiments_have_must_be_said_whole_without_a_run(saved, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.jsonl").write_text("")
    assert main(["query", "summary", "--logs", "log.jsonl"]) == 2
    assert capsys.readouterr().err == (
        "stampede: NAME|FILE: more than one experiment has a query 'summary'; use download/summary or reads/summary\n"
    )


@pytest.mark.parametrize("named", [["--run", "r"], []], ids=["by name", "the newest"])
def test_the_experiment_of_the_run_says_which_query_is_meant(saved, tmp_path, monkeypatch, named):
    run = tmp_path / "results" / "r"
    run.mkdir(parents=True)
    (run / "run.json").write_text('{"experiment": "reads"}')
    (run / "sent.jsonl").write_text("")
    experiments = []
    monkeypatch.setattr(query, "read_query", lambda name, experiment: experiments.append(experiment) or "limit 1")
    main(["query", "summary", "--results-dir", str(tmp_path / "results"), *named])
    assert experiments == ["reads"]


@pytest.mark.parametrize(
    ("end", "status", "words"),
    [
        (
            KeyboardInterrupt(),
            130,
            "stampede flood: interrupted; the 1,200 messages sent by run r are still being processed; "
            "`stampede drain --run r` waits for them\n",
        ),
        (
            OSError(errno.ENOSPC, "No space left on device", "results"),
            1,
            "; free or change that disk; run r has recorded 1,200 messages, and up to 960 more may be in the queue; "
            "`stampede drain --run r` waits for those recorded\n",
        ),
    ],
)
def test_a_flood_that_is_cut_off_says_what_goes_on_and_how_to_resume(by_hand, monkeypatch, end, status, words):
    def interrupted(target, folder, cell, count, **options):
        folder.append("sent.jsonl", [{"cell": cell, "seq": seq, "sent_at_ms": 1} for seq in range(1200)])
        raise end

    monkeypatch.setattr(flood, "flood", interrupted)
    monkeypatch.setitem(OUTPUTS, "queue_url", "http://127.0.0.1:9/q")
    monkeypatch.setitem(OUTPUTS, "account_id", "1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    exited, _, err = by_hand("reads", "flood", "--run", "r")
    assert (exited, err.endswith(words)) == (status, True), err


def test_a_part_of_a_work_order_that_is_given_twice_is_refused(by_hand):
    status, _, err = by_hand("reads", "flood", "--order", "threads=1", "--order", "threads=2")
    assert (status, "--order threads: given more than once; a flood has one value" in err) == (2, True)


@pytest.mark.parametrize("command", [("emulator", "start", "--apply"), ("sweep", "download")])
def test_an_old_terraform_is_refused_before_the_embedded_aws_is_started(command, monkeypatch, capsys):
    old = Finding("terraform", PROBLEM, "terraform is version 1.5.7: 1.9 or newer is needed", "install a newer one")
    monkeypatch.setattr(machine, "terraform", lambda: old)
    monkeypatch.setattr(emulator.embedded, "start", lambda **_: pytest.fail("it was started"))
    assert main([*command]) == 2
    assert "terraform is version 1.5.7: 1.9 or newer is needed; install a newer one\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("end", "status", "words"),
    [
        (KeyboardInterrupt(), 130, " emulator: interrupted"),
        (RunError("terraform apply failed"), 1, ": terraform apply failed"),
    ],
)
def test_an_apply_that_ends_early_says_what_stays(end, status, words, monkeypatch, capsys):
    def interrupted(*_):
        raise end

    monkeypatch.setattr(emulator.embedded, "start", lambda: SimpleNamespace(endpoint_url="http://x", access=None))
    monkeypatch.setattr(emulator.embedded, "apply_copy", interrupted)
    monkeypatch.setattr(emulator, "holding", lambda *_: nullcontext())
    assert main(["emulator", "start", "--apply"]) == status
    assert capsys.readouterr().err == (
        f"stampede{words}; the embedded AWS still runs at http://x, with a part of the stack; the same "
        "command resumes, and `stampede emulator stop` removes both\n"
    )


@pytest.mark.parametrize("resources", [0, 17])
def test_a_start_says_that_nothing_is_deployed_only_where_that_is_so(resources, monkeypatch, capsys):
    monkeypatch.setattr(emulator.embedded, "start", lambda: SimpleNamespace(endpoint_url="http://x", access=None))
    monkeypatch.setattr(emulator.stack, "applied_resources", lambda: resources)
    monkeypatch.setattr(emulator, "holding", lambda *_: nullcontext())
    assert main(["emulator", "start"]) == 0
    assert ("nothing is deployed" in capsys.readouterr().err) == (resources == 0)
