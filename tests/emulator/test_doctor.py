"""`stampede doctor` against the real embedded AWS, as an account: an ordinary one and a new one."""

import json

import boto3
import pytest

from experiments import EXPERIMENTS
from stampede.cli.command_line import main
from stampede.cli.verbs import doctor
from stampede.emulator import ministack, stack
from stampede.errors import UsageError
from stampede.finding import OK, PROBLEM, WARNING
from stampede.planning import checks
from stampede.planning.plan import make_plan
from stampede.stacks import endpoints


def plan(*settings, target="aws"):
    return make_plan(EXPERIMENTS["download"], target, settings, messages_per_concurrency=10)


def account_findings(*settings, target="aws"):
    return {finding.check: finding for finding in checks.run(plan(*settings, target=target), [checks.ACCOUNT])}


@pytest.fixture(scope="module")
def account(tmp_path_factory):
    """Start an embedded AWS whose account has the given concurrency; all of them end with the module."""
    folders = []

    def start(concurrency):
        folder = tmp_path_factory.mktemp(f"account-{concurrency}")
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("LAMBDA_ACCOUNT_CONCURRENCY", str(concurrency))
            running = ministack.start(folder, follow_parent=True)
        folders.append(folder)
        return folder, running.access

    yield start
    for folder in folders:
        ministack.stop(folder)


@pytest.fixture(scope="module")
def ordinary(account):
    return account(1000)


@pytest.fixture(scope="module")
def new(account):
    return account(10)


@pytest.fixture
def use(monkeypatch):
    """Let this process's AWS configuration be an embedded one, as a user's shell would."""

    def configure(access):
        monkeypatch.setattr(endpoints, "is_aws", lambda url: True)  # it stands for AWS here
        for name, value in access.environment.items():
            monkeypatch.setenv(name, value)

    return configure


def test_an_account_of_1000_holds_the_published_matrix(ordinary, use):
    use(ordinary[1])
    findings = account_findings()
    assert findings["credentials"].found == "account 000000000000 as arn:aws:iam::000000000000:root"
    assert [findings[name].status for name in ("credentials", "concurrency", "leftovers")] == [OK] * 3


def test_a_new_account_of_10_can_reserve_nothing_and_the_quota_to_raise_is_named(new, use):
    use(new[1])
    finding = account_findings("concurrency_value=1")["concurrency"]
    assert finding.status == PROBLEM
    with pytest.raises(UsageError, match=r"^concurrency: 500 needed, 0 can be reserved"):
        doctor.refuse_if_impossible(plan())
    assert finding.found.startswith("1 needed, 0 can be reserved: the account's concurrency limit is 10,")
    assert "--service-code lambda --quota-code L-B99A9384 --desired-value 1000" in finding.way_out


def test_a_function_that_an_earlier_run_left_is_named_with_what_it_reserves(ordinary, use):
    use(ordinary[1])
    trust = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole"}]}
    trust["Statement"][0]["Principal"] = {"Service": "lambda.amazonaws.com"}
    iam, client = (boto3.client(service, region_name="us-east-1") for service in ("iam", "lambda"))
    role = iam.create_role(RoleName="worker", AssumeRolePolicyDocument=json.dumps(trust))["Role"]
    client.create_function(
        FunctionName="stampede-download",
        Runtime="python3.12",
        Role=role["Arn"],
        Handler="download.handler.handler",
        Code={"ZipFile": b"PK\x05\x06" + bytes(18)},  # an empty zip
    )
    client.put_function_concurrency(FunctionName="stampede-download", ReservedConcurrentExecutions=900)
    try:
        findings = account_findings()
    finally:
        client.delete_function(FunctionName="stampede-download")
    assert "stampede-download (reserves 900)" in findings["leftovers"].found
    assert findings["concurrency"].status == OK  # its 900 go back when it gets another N


def test_a_user_without_permissions_gets_a_warning_and_no_traceback(ordinary, use):
    use(ordinary[1])
    iam = boto3.client("iam", region_name="us-east-1")
    iam.create_user(UserName="poor")
    key = iam.create_access_key(UserName="poor")["AccessKey"]
    use(ministack.Access(ordinary[1].endpoint_url, key["AccessKeyId"], key["SecretAccessKey"]))
    findings = account_findings()
    assert findings["credentials"].found.endswith(":user/poor")
    # The emulator lets everybody read the account's limits, but not the list of functions.
    assert findings["leftovers"].status == WARNING
    assert findings["leftovers"].found == "unknown: ListFunctions answered AccessDeniedException"
    assert PROBLEM not in {finding.status for finding in findings.values()}
    assert all("\n" not in finding.sentence for finding in findings.values())


def test_the_doctor_of_a_local_sweep_looks_at_the_emulator_that_runs(new, monkeypatch, capsys):
    monkeypatch.setattr(stack, "STATE_DIR", new[0])
    findings = account_findings("concurrency_value=10", target="local")
    assert findings["concurrency"].status == OK
    assert main(["doctor", "download", "--target", "local", "--set", "concurrency_value=11"]) == 1
    assert "11 needed, the embedded AWS runs 10 at once" in capsys.readouterr().out
