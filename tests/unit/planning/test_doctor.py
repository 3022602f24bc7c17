"""`stampede doctor` and the refusals of a sweep: this machine, and an AWS, or an endpoint in its stead, says no."""

import csv
import io
import json
import stat
from collections import namedtuple
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from experiments import EXPERIMENTS
from stampede.cli.command_line import main
from stampede.emulator import providers
from stampede.finding import OK, PROBLEM, WARNING
from stampede.planning import checks
from stampede.planning.checks import account, machine
from stampede.planning.demand import demands
from stampede.planning.plan import make_plan
from stampede.stacks import endpoints
from tests.fakes.account import DIRECTORY_BUCKETS, FakeAccount
from tests.unit.loader.foreseen_floods import each_takes

KEYS = {"AWS_ACCESS_KEY_ID": "AKIATEST", "AWS_SECRET_ACCESS_KEY": "secret"}


def plan(*settings, experiment="download", target="aws"):
    return make_plan(EXPERIMENTS[experiment], target, settings, messages_per_concurrency=10)


def cells(*settings, **options):
    return demands(plan(*settings, **options))


def statuses(findings):
    return {finding.check: finding.status for finding in findings}


# The machine


def fake_program(path, prints):
    path.write_text(f"#!/bin/sh\necho '{prints}'\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.mark.parametrize(
    ("prints", "status"),
    [("Terraform v1.9.0", OK), ("OpenTofu v1.10.7", OK), ("Terraform v1.8.5", PROBLEM), ("hello", PROBLEM)],
)
def test_terraform_must_be_there_and_1_9_or_newer(tmp_path, monkeypatch, prints, status):
    monkeypatch.setenv("STAMPEDE_TERRAFORM", fake_program(tmp_path / "terraform", f"{prints}\non linux_amd64"))
    finding = machine.terraform()
    assert finding.status == status and "\n" not in finding.sentence
    assert status == OK or "STAMPEDE_TERRAFORM" in finding.way_out


@pytest.mark.parametrize(("go", "status"), [(None, PROBLEM), ("go1.19.13", PROBLEM), ("go1.26.0", WARNING)])
@pytest.mark.parametrize("has_terraform", [False, True])
def test_what_the_first_run_has_to_build_needs_a_go_that_can(tmp_path, monkeypatch, has_terraform, go, status):
    for name in ("STAMPEDE_CACHE_DIR", "PATH", "HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.delenv("TF_CLI_CONFIG_FILE", raising=False)
    monkeypatch.delenv("STAMPEDE_TERRAFORM", raising=False)
    monkeypatch.setattr(providers, "registry_answers", lambda host: False)
    monkeypatch.setattr("stampede.emulator.go_build.go_version", lambda program: go)
    if go:
        fake_program(tmp_path / "go", go)
    if has_terraform:
        fake_program(tmp_path / "terraform", "Terraform v1.11.4\non linux_amd64")
    finding = machine.provider() if has_terraform else machine.terraform()
    assert (finding.status, "Go >= 1.25" in finding.found) == (status, status == PROBLEM)


def test_memory_for_n_copies_of_the_object_is_ok_a_warning_or_a_problem():
    ten = cells("object_size_mb=64", "concurrency_value=10", "memory_size=2048")
    # 500 for the emulator, 64 for the object, 10 x 44 for the processes = 1,004; and 10 x 64 for the copies = 1,644.
    found = [machine.local_memory(ten, available_mb).status for available_mb in (1644, 1643, 1003)]
    assert found == [OK, WARNING, PROBLEM]
    # 500 for the emulator, 1 for the object, 3 for 1,000 sources and as many copies, 23 for the process.
    within_s3 = cells("parallel_limit=100", experiment="copy", target="local")
    assert [machine.local_memory(within_s3, available_mb).status for available_mb in (527, 526)] == [OK, PROBLEM]


@pytest.mark.parametrize(
    ("files", "threads", "words"),
    [
        (2_700, 8_200, ""),
        (-1, -1, ""),  # no limits
        (2_699, 8_200, "`ulimit -Hn` is 2,699, and 500 functions at once may need 2,700; raise it to 2700"),
        (2_700, 8_199, "`ulimit -u` is 8,199, and 500 functions at once may need 8,200"),
    ],
)
def test_more_functions_than_the_systems_limits_allow_are_a_problem(monkeypatch, files, threads, words):
    limits = {machine.resource.RLIMIT_NOFILE: (1024, files), machine.resource.RLIMIT_NPROC: (threads, 10**6)}
    monkeypatch.setattr(machine.resource, "getrlimit", limits.get)
    monkeypatch.setattr(machine, "THREADS_PER_FUNCTION", 16)
    finding = machine.local_limits(cells("concurrency_value=500"))
    assert finding.status == (PROBLEM if words else OK) and words in finding.sentence


def test_a_disk_too_small_for_n_copies_of_the_object_or_the_results_is_a_problem(tmp_path, monkeypatch):
    ten = cells("object_size_mb=64", "concurrency_value=10", "memory_size=2048")

    def too_small(free_mb, target):
        usage = namedtuple("usage", "free")(free_mb * 2**20)
        monkeypatch.setattr(machine.shutil, "disk_usage", lambda path: usage)
        return {row.check for row in machine.room(ten, target, tmp_path) if row.status == PROBLEM} - {"local memory"}

    assert (too_small(640 + 50, "local"), too_small(640 + 49, "local")) == (set(), {"local disk"})
    assert (too_small(50, "aws"), too_small(49, "aws")) == (set(), {"results folder"})


def test_a_folder_that_cannot_be_written_is_a_problem_before_anything_starts(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/x")):
        [finding] = machine.room(cells(), "aws", folder)
        assert finding.status == PROBLEM and "--results-dir" in finding.way_out
        monkeypatch.setattr(machine.stack, "STATE_DIR", folder)
        assert statuses(machine.tools())["state folder"] == PROBLEM
    assert machine.room(cells(), "aws", tmp_path / "new" / "folder")[0].status == OK


def test_more_functions_than_the_emulator_will_allow_are_refused_before_it_is_started(monkeypatch):
    monkeypatch.setattr(account.ministack, "running", lambda _: None)
    for n, status in ((1000, OK), (1001, PROBLEM)):
        assert statuses(account.emulator(cells(f"concurrency_value={n}"))) == {"concurrency": status}
    assert account.emulator(cells(experiment="copy_host")) == []


# The account


@pytest.fixture
def shell(monkeypatch, tmp_path):
    """A shell without AWS settings, to be given some: shell(config=, stored=, **environ)."""
    for name in (account.EXPIRATION, "AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))

    def configure(config="", stored="", **environ):
        (tmp_path / "config").write_text(config)
        (tmp_path / "credentials").write_text(stored)
        for name, value in environ.items():
            monkeypatch.setenv(name, value)

    return configure


@pytest.fixture
def asked(monkeypatch, shell):
    """What the doctor finds of an account, by check; the stub is AWS, or an endpoint in its stead."""
    shell(**KEYS)
    each_takes(monkeypatch, 13.24)

    def findings(stub, *settings, experiment="download", is_aws=True):
        monkeypatch.setattr(endpoints, "is_aws", lambda url: is_aws)
        monkeypatch.setenv("AWS_ENDPOINT_URL", stub.url)
        found = checks.run(plan(*settings, experiment=experiment), [checks.ACCOUNT])
        assert all("\n" not in finding.sentence for finding in found)
        return {finding.check: finding for finding in found}

    return findings


@pytest.mark.parametrize(("experiment", "own"), [("download", ["concurrency"]), ("copy_host", [])])
def test_an_ordinary_account_holds_the_published_matrix(asked, experiment, own):
    with FakeAccount() as stub:
        findings = asked(stub, experiment=experiment)
    assert statuses(findings.values()) == dict.fromkeys(["credentials", "session", *own, "leftovers"], OK)
    assert findings["credentials"].found == "account 123456789012 as arn:aws:iam::123456789012:user/x"


FUNCTIONS = {"stampede-download": 500, "elsewhere": 7}


@pytest.mark.parametrize(
    ("account_has", "settings", "check", "status", "words"),
    [
        # 401 reserved elsewhere: 499 are left besides the 100.
        ({"unreserved": 599}, [], "concurrency", PROBLEM, "500 needed, 499 can be reserved: the account's concurrency"),
        ({"unreserved": 599}, [], "concurrency", PROBLEM, "--quota-code L-B99A9384 --desired-value 1001 --region us-e"),
        ({"limit": 10, "unreserved": 10}, ["concurrency_value=1"], "concurrency", PROBLEM, "--desired-value 1000"),
        # What our own function reserves is free for it, and a leftover.
        ({"unreserved": 500, "functions": FUNCTIONS}, [], "concurrency", OK, ""),
        ({"unreserved": 500, "functions": FUNCTIONS}, [], "leftovers", WARNING, "stampede-download (reserves 500);"),
        ({"refuse": ["GetAccountSettings"]}, [], "concurrency", WARNING, "unknown"),
        ({"refuse": ["ListFunctions"]}, [], "leftovers", WARNING, "unknown"),
        ({"refuse": ["sts"]}, [], "credentials", PROBLEM, "InvalidClientTokenId"),
        ({"bodies": {"sts": "<html></html>"}}, [], "credentials", PROBLEM, "isn't from STS"),
        ({"bodies": {"sts": '{"hello": 1}'}}, [], "credentials", PROBLEM, "isn't from STS"),
    ],
)
def test_what_the_account_refuses_is_said_with_the_way_out(asked, account_has, settings, check, status, words):
    with FakeAccount(**account_has) as stub:
        findings = asked(stub, *settings)
    assert findings[check].status == status and words in findings[check].sentence
    assert check != "credentials" or list(findings) == ["credentials"]


def test_an_instance_that_an_earlier_run_left_is_named_as_billed(asked):
    with FakeAccount(instances=["i-0abc"]) as stub:
        finding = asked(stub, experiment="copy_host")["leftovers"]
    assert finding.status == WARNING and "i-0abc (billed)" in finding.found


def test_no_credentials_and_a_profile_that_is_not_there_are_problems_with_the_fix(shell):
    def account_problem():
        [finding] = checks.run(plan(), [checks.ACCOUNT])
        return finding.sentence

    shell()
    assert "make run" in account_problem()
    shell(config="[profile dev]\nregion = us-east-1\n", AWS_PROFILE="nosuch")
    assert "profile (nosuch)" in account_problem() and "list-profiles" in account_problem()


@pytest.mark.parametrize(
    ("experiment", "own"),
    [
        ("filesystem", ["file system", "functions", "saved queries", "concurrency"]),
        ("express", ["directory buckets", "Athena", "Glue", "functions", "saved queries", "concurrency"]),
        ("copy_host", ["keys", "hosts", "saved queries"]),
    ],
)
def test_an_endpoint_is_asked_for_what_the_experiment_needs(asked, experiment, own):
    with FakeAccount(bodies={"s3express": DIRECTORY_BUCKETS}) as stub:
        findings = asked(stub, experiment=experiment, is_aws=False)
    always = ["credentials", "session", "endpoint", "S3", "SQS", "Logs", "IAM"]
    assert statuses(findings.values()) == dict.fromkeys([*always, *own, "leftovers"], OK)
    assert stub.url in findings["endpoint"].found


@pytest.mark.parametrize(
    ("has", "check", "status", "words"),
    [
        ({"lacks": ["athena"]}, "Athena", PROBLEM, "the endpoint doesn't implement ListWorkGroups; use an endpoint"),
        ({"refuse": ["athena"]}, "Athena", WARNING, "unknown: ListWorkGroups answered AccessDeniedException"),
        ({"lacks": ["DescribeQueryDefinitions"]}, "saved queries", WARNING, "override file"),
        ({"bodies": {"iam": "<html></html>"}}, "IAM", PROBLEM, "isn't from that service"),
    ],
)
def test_what_an_endpoint_lacks_is_a_problem_and_what_we_may_not_ask_is_none(asked, has, check, status, words):
    with FakeAccount(**has) as stub:
        finding = asked(stub, experiment="express", is_aws=False)[check]
    assert finding.status == status and words in finding.sentence


# Credentials that end before the run does

HOUR_S = 3600.0
HELD = KEYS | {"AWS_SESSION_TOKEN": "t"}
STORED = "[default]\naws_access_key_id = AKIA\naws_secret_access_key = s\n"
ROLE = "[profile work]\nrole_arn = arn:aws:iam::123456789012:role/r\nsource_profile = default\n"


@pytest.mark.parametrize(
    ("settings", "lasts_s", "too_short_s"),
    [
        (KEYS, 100 * HOUR_S, None),
        (HELD, HOUR_S, HOUR_S + 1),  # nobody knows
        (HELD | {"AWS_CREDENTIAL_EXPIRATION": 24}, 23 * 60, 43 * 60),
        ({"stored": f"{STORED}aws_session_token = t\n"}, HOUR_S, HOUR_S + 1),
        ({"config": ROLE, "stored": STORED, "AWS_PROFILE": "work"}, 10 * HOUR_S, None),
    ],
)
def test_credentials_have_to_last_as_long_as_the_run(shell, settings, lasts_s, too_short_s):
    end = datetime.now(UTC) + timedelta(minutes=24)
    shell(**{name: end.isoformat() if value == 24 else value for name, value in settings.items()})
    assert account.session(lasts_s).status == OK
    assert too_short_s is None or account.session(too_short_s).status == WARNING


@pytest.mark.parametrize("text", ["soon", "2026-01-01T00:00:00", "2020-01-01T00:00:00Z"])
def test_an_expiry_that_botocore_cannot_use_is_a_problem_in_one_line(shell, text):
    shell(**HELD, AWS_CREDENTIAL_EXPIRATION=text)
    [finding] = checks.run(plan(), [checks.ACCOUNT])
    assert (finding.check, finding.status, "\n" in finding.sentence) == ("credentials", PROBLEM, False)
    assert "AWS_CREDENTIAL_EXPIRATION" in finding.way_out or "expired" in finding.found


# The verb


@pytest.fixture
def machine_with_tools(monkeypatch):
    """Tools that are there, so that only the account decides."""
    monkeypatch.setattr(machine, "tools", list)
    monkeypatch.setattr(checks, "holder", lambda option: None)  # another test may hold the stack of this checkout
    monkeypatch.setattr(checks, "predicted", lambda plan: ({}, ""))


def test_the_doctor_says_in_one_line_what_is_right_and_ends_with_1_at_a_problem(asked, machine_with_tools, capsys):
    def run(*options):
        status = main(["doctor", "download", "--target", "aws", *options])
        return status, capsys.readouterr().out

    with FakeAccount() as stub:
        asked(stub)
        (passes, passed), (fails, failed) = run("--budget-usd", "6"), run("--budget-usd", "5")
        (_, rows), (_, printed) = run("--format", "csv"), run("--format", "json")
    right = passed[passed.index("[ok]") :]
    assert all(words in right for words in ("credentials (account 123456789012 as", "concurrency", "budget"))
    assert "GET and HEAD" in passed and "cost: about 5.15 USD" in passed
    assert "[fail]  budget:" in failed and (passes, fails) == (0, 1)
    assert list(csv.DictReader(io.StringIO(rows))) == json.loads(printed)["checks"]
    assert json.loads(printed)["cost"]["total_usd"] == pytest.approx(5.15, abs=0.01)


def test_a_local_sweep_is_looked_at_without_an_account(machine_with_tools, shell, capsys):
    shell()
    assert main(["doctor", "download", "--set", "object_size_mb=1"]) == 0
    assert "cost: nothing on this machine" in capsys.readouterr().out


def test_cells_that_lose_messages_or_never_reach_n_are_a_warning(monkeypatch):
    two = plan("concurrency_value=1,2", "memory_size=2048")
    [fine] = checks.run(two, [checks.FLOODS])
    predictions = checks.predicted(two)[0]
    assert fine.status == OK and predictions.keys() == {cell.name for cell in two.cells}
    for changes, words in (({"dead_lettered": 12}, "12 of 10 messages"), ({"time_to_n_s": None}, "N is never reached")):
        wrong = {name: replace(prediction, **changes) for name, prediction in predictions.items()}
        [finding] = checks.floods(two, wrong)
        assert finding.status == WARNING and words in finding.found and "1 more" in finding.found
    assert checks.floods(two, {}) == []
