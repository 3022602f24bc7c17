"""`stampede doctor` and a sweep's refusals, by this machine, AWS or another endpoint."""

from collections import namedtuple
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from stampede.cli.command_line import main
from stampede.emulator import providers
from stampede.finding import OK, PROBLEM, WARNING
from stampede.planning import checks
from stampede.planning.checks import account, machine
from stampede.planning.cost import Estimate, estimate
from stampede.planning.demand import demands
from stampede.stacks import endpoints
from tests.fakes.account import DIRECTORY_BUCKETS, FakeAccount
from tests.unit.planning.foreseen_floods import each_takes
from tests.unit.plans import plan

KEYS = {"AWS_ACCESS_KEY_ID": "AKIATEST", "AWS_SECRET_ACCESS_KEY": "secret"}
TEN = "object_size_mb=64 concurrency_value=10 memory_size=2048"


def cells(*of_plan):
    return demands(plan(*of_plan))


def statuses(findings):
    return {finding.check: finding.status for finding in findings}


# The machine


@pytest.mark.parametrize(
    ("terraform", "go", "status", "of_provider"),
    [
        ("Terraform v1.9.0", "go1.26.0", OK, WARNING),
        ("OpenTofu v1.10.7", None, OK, PROBLEM),
        ("Terraform v1.11.4", "go1.19.13", OK, PROBLEM),
        ("Terraform v1.8.5", "go1.26.0", PROBLEM, None),
        # Builds of the first run need a recent Go.
        (None, "go1.26.0", WARNING, None),
        (None, "go1.19.13", PROBLEM, None),
    ],
)
def test_terraform_must_be_there_and_1_9_or_newer_or_a_go_to_build(
    tmp_path, monkeypatch, terraform, go, status, of_provider
):
    for name in ("STAMPEDE_CACHE_DIR", "PATH", "HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    for name in ("TF_CLI_CONFIG_FILE", "STAMPEDE_TERRAFORM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(providers, "registry_answers", lambda host: False)
    for name, prints in {
        "terraform": terraform and f"{terraform}\non linux_amd64",
        "go": go,
    }.items():
        if prints:
            (tmp_path / name).write_text(f"#!/bin/sh\necho '{prints}'\n")
            (tmp_path / name).chmod(0o755)
    found = machine.tools()
    assert (statuses(found)["terraform"], statuses(found).get("provider")) == (status, of_provider)
    assert all("\n" not in finding.sentence for finding in found)


COPIES = ("parallel_limit=100", "copy", "local")


@pytest.mark.parametrize(
    ("of_plan", "has", "wrong"),
    [
        # 500 for the emulator, 64 for the object, 10 x 44 for processes and 10 x 64 for copies.
        ((TEN,), {"memory_mb": 1644}, {}),
        ((TEN,), {"memory_mb": 1643}, {"local memory": WARNING}),
        ((TEN,), {"memory_mb": 1003}, {"local memory": PROBLEM}),
        # 500 for the emulator, 1 for the object, 3 for 1,000 sources and copies, 23 for a process.
        (COPIES, {"memory_mb": 526}, {"local memory": PROBLEM}),
        # N copies of the object, and 50 for the results.
        ((TEN,), {"disk_mb": 640 + 50}, {}),
        ((TEN,), {"disk_mb": 640 + 49}, {"local disk": PROBLEM}),
        ((TEN,), {"disk_mb": 49}, {"local disk": PROBLEM, "results folder": PROBLEM}),
        ((TEN,), {"files": 249}, {"local limits": PROBLEM}),
        ((TEN,), {"threads": 359}, {"local limits": PROBLEM}),
    ],
)
def test_the_machine_must_have_room_for_n_functions_at_once(
    tmp_path, monkeypatch, of_plan, has, wrong
):
    here = {"memory_mb": 10**6, "disk_mb": 10**6, "files": -1, "threads": -1} | has
    limits = {
        machine.resource.RLIMIT_NOFILE: (1024, here["files"]),
        machine.resource.RLIMIT_NPROC: (here["threads"], 0),
    }
    usage = namedtuple("usage", "free")(here["disk_mb"] * 2**20)
    monkeypatch.setattr(machine.stack, "STATE_DIR", tmp_path)
    monkeypatch.setattr(machine.resource, "getrlimit", limits.get)
    monkeypatch.setattr(machine.shutil, "disk_usage", lambda path: usage)
    monkeypatch.setattr(machine, "available_memory_mb", lambda: here["memory_mb"])
    monkeypatch.setattr(machine, "THREADS_PER_FUNCTION", 16)
    found = statuses(machine.room(cells(*of_plan), "local", tmp_path))
    assert {check: status for check, status in found.items() if status != OK} == wrong


def test_a_folder_that_cannot_be_written_is_a_problem_before_anything_starts(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file" / "below", Path("/proc/x")):
        [finding] = machine.room(cells(), "aws", folder)
        assert finding.status == PROBLEM and "--results-dir" in finding.way_out
        monkeypatch.setattr(machine.stack, "STATE_DIR", folder)
        assert statuses(machine.tools())["state folder"] == PROBLEM
    assert statuses(machine.room(cells(), "aws", tmp_path / "new" / "folder")) == {
        "results folder": OK
    }


def test_more_functions_than_the_emulator_allows_are_refused_before_it_starts():
    for n, status in ((1000, OK), (1001, PROBLEM)):
        assert statuses(account.emulator(cells(f"concurrency_value={n}"))) == {
            "concurrency": status
        }
    assert account.emulator(cells("", "copy_host")) == []


# The account


@pytest.fixture
def shell(monkeypatch, tmp_path):
    """A shell without AWS settings; shell(config=, stored=, **environ) adds some."""
    for name in (account.EXPIRATION, "AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    files = {"AWS_CONFIG_FILE": "config", "AWS_SHARED_CREDENTIALS_FILE": "stored"}

    def configure(config="", stored="", **environ):
        for name, text in {"config": config, "stored": stored}.items():
            (tmp_path / name).write_text(text)
        for name, value in (
            {name: str(tmp_path / file) for name, file in files.items()} | environ
        ).items():
            monkeypatch.setenv(name, value)

    return configure


@pytest.fixture
def asked(monkeypatch, shell):
    """A function that returns the doctor's findings by check, for AWS or another endpoint."""
    shell(**KEYS)
    each_takes(monkeypatch, 13.24)

    def findings(settings="", experiment="download", is_aws=True, **has):
        monkeypatch.setattr(endpoints, "is_aws", lambda url: is_aws)
        with FakeAccount(**has) as stub:
            monkeypatch.setenv("AWS_ENDPOINT_URL", stub.url)
            made = plan(settings, experiment)
            found = checks.of_account(made, estimate(made))
        assert all("\n" not in finding.sentence for finding in found)
        return {finding.check: finding for finding in found}

    return findings


ENDPOINT = ["endpoint", "S3", "SQS", "Logs", "IAM", "saved queries"]


@pytest.mark.parametrize(
    ("experiment", "is_aws", "own"),
    [
        ("download", True, ["concurrency"]),
        ("copy_host", True, []),
        (
            "express",
            False,
            [*ENDPOINT, "directory buckets", "Athena", "Glue", "functions", "concurrency"],
        ),
    ],
)
def test_an_account_or_endpoint_with_everything_passes_the_checks_of_the_experiment(
    asked, experiment, is_aws, own
):
    found = asked(experiment=experiment, is_aws=is_aws, bodies={"s3express": DIRECTORY_BUCKETS})
    checks = ["credentials", "session", "leftovers", *own]
    assert statuses(found.values()) == dict.fromkeys(checks, OK)


NOT_AWS = {"experiment": "express", "is_aws": False}
FULL = {"unreserved": 500, "functions": {"stampede-download": 500, "elsewhere": 7}}


@pytest.mark.parametrize(
    ("has", "check", "status", "words"),
    [
        # 401 reserved elsewhere leave 499 in addition to the 100.
        ({"unreserved": 600}, "concurrency", OK, ""),
        ({"unreserved": 599}, "concurrency", PROBLEM, "--desired-value 1001 --region us-east-1"),
        (
            {"limit": 600, "unreserved": 600, "settings": "concurrency_value=501"},
            "concurrency",
            PROBLEM,
            "500 can",
        ),
        (
            {"limit": 10, "unreserved": 10, "settings": "concurrency_value=1"},
            "concurrency",
            PROBLEM,
            "value 1000",
        ),
        # The own function may use its reservation, which is also a leftover.
        (FULL, "concurrency", OK, ""),
        (FULL, "leftovers", WARNING, "deployment: stampede-download (reserves 500);"),
        ({"refuse": ["GetAccountSettings"]}, "concurrency", WARNING, "unknown"),
        ({"refuse": ["ListFunctions"]}, "leftovers", WARNING, "unknown"),
        (
            {"experiment": "copy_host", "instances": ["i-0abc"]},
            "leftovers",
            WARNING,
            "i-0abc (billed)",
        ),
        ({"refuse": ["sts"]}, "credentials", PROBLEM, "InvalidClientTokenId"),
        ({"bodies": {"sts": "<html></html>"}}, "credentials", PROBLEM, "no usable answer from STS"),
        # A service that an endpoint lacks is a problem; a forbidden question is none.
        (NOT_AWS | {"lacks": ["athena"]}, "Athena", PROBLEM, "implement ListWorkGroups"),
        (NOT_AWS | {"refuse": ["athena"]}, "Athena", WARNING, "unknown: ListWorkGroups"),
        (NOT_AWS | {"lacks": ["DescribeQueryDefinitions"]}, "saved queries", WARNING, "override"),
    ],
)
def test_a_refusal_of_an_account_or_endpoint_is_reported_with_the_way_out(
    asked, has, check, status, words
):
    found = asked(**has)
    assert found[check].status == status and words in found[check].sentence
    assert check != "credentials" or list(found) == ["credentials"]


# Credentials that expire before the run ends

HOUR_S = 3600.0
HELD = KEYS | {"AWS_SESSION_TOKEN": "t"}
STORED = "[default]\naws_access_key_id = AKIA\naws_secret_access_key = s\n"
ROLE = "[profile work]\nrole_arn = arn:aws:iam::123456789012:role/r\nsource_profile = default\n"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "make run"),
        ({"config": "[profile dev]\nregion = us-east-1\n", "AWS_PROFILE": "nosuch"}, "(nosuch)"),
        (HELD | {"AWS_CREDENTIAL_EXPIRATION": "soon"}, "AWS_CREDENTIAL_EXPIRATION"),
        (HELD | {"AWS_CREDENTIAL_EXPIRATION": "2020-01-01T00:00:00Z"}, "expired"),
    ],
)
def test_credentials_that_cannot_be_used_are_a_problem_in_one_line_with_the_fix(
    shell, settings, words
):
    shell(**settings)
    [finding] = checks.of_account(plan(), estimate(plan()))
    assert (finding.check, finding.status) == ("credentials", PROBLEM)
    assert "\n" not in finding.sentence
    assert words in finding.sentence


@pytest.mark.parametrize(
    ("settings", "lasts_s", "too_short_s"),
    [
        (HELD, HOUR_S, HOUR_S + 1),  # unknown
        (HELD | {"AWS_CREDENTIAL_EXPIRATION": 24}, 23 * 60, 43 * 60),
        ({"config": ROLE, "stored": STORED, "AWS_PROFILE": "work"}, 10 * HOUR_S, None),
    ],
)
def test_credentials_have_to_last_as_long_as_the_run(shell, settings, lasts_s, too_short_s):
    end = datetime.now(UTC) + timedelta(minutes=24)
    shell(**{name: end.isoformat() if value == 24 else value for name, value in settings.items()})
    assert account.session(lasts_s).status == OK
    assert too_short_s is None or account.session(too_short_s).status == WARNING


# The verb


@pytest.fixture
def doctor(monkeypatch, capsys):
    """Runs the verb on a machine with all tools, so that only the account decides."""
    monkeypatch.setattr(machine, "tools", list)
    # another test may have locked this checkout's stack
    monkeypatch.setattr(checks, "holder", lambda option: None)

    def run(command):
        status = main(["doctor", "download", *command.split()])
        return status, capsys.readouterr().out

    return run


def test_the_doctor_sums_up_passed_checks_in_one_line_and_exits_with_1_at_a_problem(
    asked, doctor, monkeypatch
):
    monkeypatch.setattr(Estimate, "predictions", lambda estimated: {})
    asked()
    with FakeAccount() as stub:
        monkeypatch.setenv("AWS_ENDPOINT_URL", stub.url)
        (passes, passed), (fails, failed) = (
            doctor(f"--target aws --budget-usd {usd}") for usd in (6, 5)
        )
    right = passed[passed.index("[ok]") :]
    assert "credentials (account 123456789012" in right and "budget" in right
    assert "about 5.15 USD" in passed
    assert "[fail]  budget:" in failed and (passes, fails) == (0, 1)


def test_the_doctor_names_what_is_wrong_with_a_plan_and_with_its_floods(shell, doctor, monkeypatch):
    shell(**KEYS)
    with FakeAccount() as stub:
        monkeypatch.setenv("AWS_ENDPOINT_URL", stub.url)
        status, printed = doctor(
            "--target aws --set memory_size=2048 --set concurrency_value=1 --set timeout_s=5"
        )
    assert (status, "[fail]  time limit" in printed, "[warn]  floods" in printed) == (1, True, True)


def test_cells_that_lose_messages_or_never_reach_n_are_a_warning():
    two = plan("concurrency_value=1,2 memory_size=2048")
    predictions = estimate(two).predictions()
    assert statuses(checks.floods(two, predictions)) == {"floods": OK} and len(predictions) == 2
    for changes, words in (
        ({"dead_lettered": 12}, "12 of 10"),
        ({"time_to_n_s": None}, "never reached"),
    ):
        wrong = {name: replace(prediction, **changes) for name, prediction in predictions.items()}
        [finding] = checks.floods(two, wrong)
        assert finding.status == WARNING and words in finding.found and "1 more" in finding.found
    assert checks.floods(two, {}) == []
