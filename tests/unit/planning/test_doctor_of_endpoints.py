"""The doctor at an endpoint in AWS's stead: what it has of what an experiment needs, and what will run there."""

import platform

import pytest

from experiments import EXPERIMENTS
from stampede.cli.verbs import doctor
from stampede.errors import UsageError
from stampede.finding import OK, PROBLEM, WARNING
from stampede.planning import checks
from stampede.planning.plan import make_plan
from tests.fakes.account import DIRECTORY_BUCKETS, FakeAccount
from tests.unit.loader.foreseen_floods import each_takes

LOCALSTACK = {"version": "2026.3.0", "system": f"Linux(Container),{platform.release()},x86_64"}


def plan(experiment):
    return make_plan(EXPERIMENTS[experiment], "aws", (), messages_per_concurrency=1)


@pytest.fixture
def account_findings(monkeypatch, tmp_path):
    """What the doctor finds of an account, by check, where Docker answers, doesn't (1), or isn't there (None)."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    each_takes(monkeypatch, 13.24)

    def findings(stub, experiment="download", docker=None):
        monkeypatch.setenv("PATH", str(tmp_path))
        if docker is not None:
            (tmp_path / "docker").write_text(f"#!/bin/sh\nexit {docker}\n")
            (tmp_path / "docker").chmod(0o755)
        with stub:
            monkeypatch.setenv("AWS_ENDPOINT_URL", stub.url)
            return {finding.check: finding for finding in checks.run(plan(experiment), [checks.ACCOUNT])}

    return findings


ALL = ["credentials", "session", "endpoint", "S3", "SQS", "Logs", "IAM"]
LAST = ["saved queries", "concurrency", "leftovers", "runs there"]


@pytest.mark.parametrize(
    ("experiment", "own"),
    [
        ("download", ["functions", *LAST]),
        ("filesystem", ["file system", "functions", *LAST]),
        ("express", ["Athena", "Glue", "functions", "directory buckets", *LAST]),
        ("copy_host", ["hosts", "keys", "saved queries", "instance type", "leftovers", "runs there"]),
    ],
)
def test_an_endpoint_is_asked_for_what_the_experiment_needs_and_for_nothing_that_only_aws_has(
    account_findings, experiment, own
):
    stub = FakeAccount(bodies={"s3express": DIRECTORY_BUCKETS})
    findings = account_findings(stub, experiment)
    assert list(findings) == [*ALL, *own]
    assert PROBLEM not in {finding.status for finding in findings.values()}
    assert findings["endpoint"].found == f"an endpoint at {stub.url}, which isn't AWS; figures are labelled with it"


def test_what_only_a_run_can_show_is_a_warning_and_named_with_what_will_run(account_findings):
    findings = account_findings(FakeAccount(), "filesystem")
    unsure = {name for name, finding in findings.items() if finding.status == WARNING}
    assert unsure == {"file system", "functions", "runs there"}
    assert findings["runs there"].found == "all 18 cells of filesystem, if these work: file system, functions"


def test_what_the_endpoint_lacks_is_a_problem_and_nothing_of_the_experiment_runs(account_findings):
    findings = account_findings(FakeAccount(lacks=["athena", "s3express"], info=LOCALSTACK), "express", docker=0)
    lacking = {name: finding.sentence for name, finding in findings.items() if finding.status == PROBLEM}
    assert list(lacking) == ["Athena", "directory buckets"]
    assert lacking["Athena"] == (
        "not available: the endpoint doesn't implement ListWorkGroups; use an endpoint that has it, AWS itself, "
        "or --target local"
    )
    assert findings["runs there"].found == "express can't run here; missing: Athena, directory buckets"


def test_a_listing_of_all_buckets_is_none_of_directory_buckets(account_findings):
    finding = account_findings(FakeAccount(), "express")["directory buckets"]
    assert (finding.status, finding.found) == (
        PROBLEM,
        "not available: ListDirectoryBuckets is answered like ListBuckets",
    )


def test_what_we_may_not_ask_is_unknown_and_no_problem(account_findings):
    account = FakeAccount(refuse=["athena"], bodies={"s3express": DIRECTORY_BUCKETS})
    finding = account_findings(account, "express")["Athena"]
    assert (finding.status, finding.found) == (WARNING, "unknown: ListWorkGroups answered AccessDeniedException")


def test_saved_queries_that_it_lacks_are_a_warning_with_the_override_as_the_fix(account_findings):
    finding = account_findings(FakeAccount(lacks=["DescribeQueryDefinitions"]))["saved queries"]
    assert (finding.status, "override file" in finding.way_out) == (WARNING, True)
    assert finding.found.startswith(
        "the endpoint doesn't implement DescribeQueryDefinitions; a run's lines are evaluated on"
    )


# LocalStack runs functions in Docker containers, and in nothing else.


def test_localstack_with_docker_runs_functions(account_findings):
    findings = account_findings(FakeAccount(info=LOCALSTACK), docker=0)
    assert findings["endpoint"].found.endswith("which isn't AWS: LocalStack 2026.3.0; figures are labelled with it")
    assert (findings["functions"].status, findings["runs there"].found) == (OK, "all 12 cells of download")


@pytest.mark.parametrize(
    ("docker", "why_not"),
    [(None, "there is no Docker on this machine"), (1, "Docker's daemon doesn't answer on this machine")],
)
def test_without_docker_localstack_runs_none_and_the_doctor_says_why(account_findings, docker, why_not):
    finding = account_findings(FakeAccount(info=LOCALSTACK), docker=docker)["functions"]
    assert (finding.status, finding.found) == (
        PROBLEM,
        f"LocalStack runs functions in Docker containers, and {why_not}",
    )
    assert "start Docker" in finding.way_out and "--target local" in finding.way_out


def test_a_localstack_behind_a_tunnel_may_have_a_docker_that_cannot_be_seen(account_findings):
    elsewhere = LOCALSTACK | {"system": "Linux(Container),1.2.3-other,x86_64"}
    assert account_findings(FakeAccount(info=elsewhere))["functions"].status == WARNING


def test_a_sweep_is_refused_before_anything_is_created_where_the_endpoint_cannot_run_it(account_findings, monkeypatch):
    account_findings(FakeAccount())  # for the environment
    with FakeAccount(info=LOCALSTACK) as stub:
        monkeypatch.setenv("AWS_ENDPOINT_URL", stub.url)
        with pytest.raises(UsageError, match=r"^functions: LocalStack runs functions in Docker containers, and there"):
            doctor.refuse_if_impossible(plan("download"))


# What isn't like AWS at all.


@pytest.mark.parametrize("body", ["<html><body><br></body></html>", "", '{"hello": 1}', "<R/>"])
def test_something_else_that_answers_there_is_one_problem(account_findings, body):
    findings = account_findings(FakeAccount(bodies={"sts": body}))
    assert (list(findings), findings["credentials"].status) == (["credentials"], PROBLEM)
    assert findings["credentials"].found.endswith("isn't from STS")


def test_with_one_service_elsewhere_the_account_is_still_asked_what_only_aws_has(monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    with FakeAccount() as aws, FakeAccount() as s3:
        monkeypatch.setattr("stampede.stacks.endpoints.is_aws", lambda url: url == aws.url)
        monkeypatch.setenv("AWS_ENDPOINT_URL", aws.url)
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", s3.url)
        findings = {finding.check: finding for finding in checks.run(plan("download"), [checks.ACCOUNT])}
    assert f"an endpoint at {s3.url} (for s3 only; everything else is AWS)" in findings["endpoint"].found
    assert {"memory cap", "network quota"} <= findings.keys()


def test_an_endpoint_that_isnt_localstack_may_answer_the_question_for_it_with_anything(account_findings):
    class Odd(FakeAccount):
        def answer(self, request):  # with no status of HTTP
            return (99, {}, b"") if request.path == "/_localstack/info" else super().answer(request)

    assert account_findings(Odd())["endpoint"].found.endswith("which isn't AWS; figures are labelled with it")


def test_the_endpoint_that_isnt_there_is_named_and_not_called_aws(account_findings, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:9")
    (finding,) = account_findings(FakeAccount()).values()
    assert finding.sentence == (
        "checking the credentials: no answer in us-east-1 at http://127.0.0.1:9; is it running, and is "
        "AWS_ENDPOINT_URL right?"
    )
