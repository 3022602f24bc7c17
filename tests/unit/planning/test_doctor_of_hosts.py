"""What `stampede doctor` says where no function is used, and where S3 does the work by itself."""

import pytest

from experiments import EXPERIMENTS, go_program
from stampede.finding import OK, PROBLEM, WARNING
from stampede.planning import checks
from stampede.planning import rules as checks_plan
from stampede.planning.checks import account as checks_account
from stampede.planning.checks import machine as checks_machine
from stampede.planning.plan import make_plan
from stampede.stacks import endpoints
from tests.fakes.account import FakeAccount
from tests.unit.loader.copy_cells import a_cell_of, cells_of
from tests.unit.loader.foreseen_floods import each_takes


@pytest.fixture
def aws(monkeypatch):
    """Credentials, and a function that lets the doctor look at a stub."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATEST")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    each_takes(monkeypatch, 13.24)
    monkeypatch.setattr(endpoints, "is_aws", lambda url: True)  # the stub stands for it

    def findings(stub, *settings):
        monkeypatch.setenv("AWS_ENDPOINT_URL", stub.url)
        plan = make_plan(EXPERIMENTS["copy_host"], "aws", settings, messages_per_concurrency=1)
        return {finding.check: finding for finding in checks.run(plan, [checks.ACCOUNT])}

    return findings


def test_an_account_with_128_vcpus_holds_the_published_hosts_and_lambda_is_not_asked_about(aws):
    with FakeAccount() as stub:
        findings = aws(stub, "instance_type=m5a.4xlarge,m5a.8xlarge")
    assert {name: finding.status for name, finding in findings.items()} == dict.fromkeys(
        ("credentials", "session", "region", "instance type", "vCPUs", "leftovers"), OK
    )
    assert findings["vCPUs"].found.startswith("32 needed for 1 x m5a.8xlarge; the quota is 128")
    assert findings["instance type"].found == "m5a.4xlarge, m5a.8xlarge in us-east-1"


def test_more_vcpus_than_the_quota_are_a_problem_with_the_command_that_raises_it(aws):
    with FakeAccount(vcpus=32) as stub:
        assert aws(stub)["vCPUs"].status == OK
        finding = aws(stub, "concurrency_value=2")["vCPUs"]
    assert finding.status == PROBLEM
    assert finding.found.startswith("64 needed for 2 x m5a.8xlarge; the quota is 32")
    assert finding.way_out.endswith("--service-code ec2 --quota-code L-1216C47A --desired-value 64 --region us-east-1")


def test_a_quota_that_is_not_listed_or_is_another_one_is_a_warning_with_what_is_needed(aws):
    with FakeAccount(vcpus=None) as stub:
        finding = aws(stub)["vCPUs"]
        other_finding = aws(stub, "instance_type=p4d.24xlarge")["vCPUs"]
    assert (finding.status, finding.found) == (WARNING, "32 needed for 1 x m5a.8xlarge; the quota is unknown")
    assert (other_finding.status, "96 needed" in other_finding.found, "a quota of its own" in other_finding.found) == (
        WARNING,
        True,
        True,
    )


def test_an_instance_type_that_the_region_does_not_have_is_a_problem(aws):
    with FakeAccount() as stub:
        finding = aws(stub, "instance_type=m5a.8xlarge,m9z.large")["instance type"]
    assert (finding.status, finding.found) == (PROBLEM, "m9z.large isn't available in us-east-1")


def test_instances_of_an_earlier_run_are_named_because_they_are_billed(aws):
    with FakeAccount(instances=["i-0abc"]) as stub:
        finding = aws(stub)["leftovers"]
    assert (finding.status, "i-0abc (m5a.8xlarge, running)" in finding.found) == (WARNING, True)


@pytest.mark.parametrize(
    ("operation", "check"), [("DescribeInstanceTypes", "instance type"), ("DescribeInstances", "leftovers")]
)
def test_a_call_that_aws_denies_is_a_warning_in_one_line(aws, operation, check):
    with FakeAccount(refuse=[operation]) as stub:
        findings = aws(stub)
    assert (findings[check].status, "unknown" in findings[check].found) == (WARNING, True)
    assert [finding for finding in findings.values() if finding.status == PROBLEM] == []


# The plan


def test_the_plan_of_hosts_says_hosts_and_has_no_rules_of_lambda(monkeypatch):
    monkeypatch.setattr(go_program, "missing", lambda architecture: "")
    findings = {
        finding.check: finding for finding in checks_plan.check(cells_of("copy_host"), EXPERIMENTS["copy_host"], "aws")
    }
    assert findings["matrix"].found == "7 cells, N up to 1, 7 copy runs of 208,970 MiB each"
    assert not findings.keys() & {"memory", "trigger"}
    assert {name for name, finding in findings.items() if finding.status != OK} == {"rate"}


def test_one_call_after_another_for_two_million_objects_does_not_fit_into_a_function_and_the_fix_is_more_at_once():
    slow = a_cell_of("copy", "parallel_limit=1", longest_s=297_000)
    finding = checks_plan.time_limit([slow], "copy run", "aws")
    assert finding.status == PROBLEM
    assert "one copy run may take 297,000.0 s" in finding.found and "timeout_s is 900" in finding.found
    assert finding.way_out == "use a smaller object_count, or a larger parallel_limit"


def test_an_emptying_that_takes_longer_than_a_function_may_is_a_problem_too():
    many = a_cell_of("copy", "from_manifest=true", "object_count=5000000", "object_bytes=1000")
    finding = checks_plan.time_limit([many], "copy run", "aws")
    assert (finding.status, "one preparation may take 1,428.8 s" in finding.found) == (PROBLEM, True)


def test_a_host_may_work_for_12_hours_on_one_message():
    fits, too_long = (a_cell_of("copy_host", longest_s=seconds) for seconds in (12 * 3600, 12 * 3600 + 1))
    assert checks_plan.hold([fits], "copy run").status == OK
    finding = checks_plan.hold([too_long], "copy run")
    assert (finding.status, finding.way_out) == (
        PROBLEM,
        "use a smaller object_count, more hosts, or a larger parallel_limit",
    )


# The machine


def test_what_s3_copies_by_itself_takes_no_disk_and_little_memory_here():
    cells = [a_cell_of("copy", target="local")]
    assert checks_machine.local_disk(cells, 50).status == OK
    # 500 for the emulator, 1 for the object, 3 for 1,000 sources and as many copies, 23 for the process.
    assert checks_machine.local_memory(cells, 527).status == OK
    assert checks_machine.local_memory(cells, 526).status == PROBLEM


def test_the_connections_of_all_hosts_have_to_stay_below_the_limit_of_open_files():
    cells = [a_cell_of("copy_host", "parallel_limit=1000", "concurrency_value=3", target="local")]
    needed = 200 + 3 * (5 + 1000)
    assert checks_machine.local_limits(cells, needed, float("inf")).status == OK
    finding = checks_machine.local_limits(cells, needed - 1, float("inf"))
    assert finding.sentence == (
        "`ulimit -Hn` is 3,214, and 3 hosts at once with up to 1,000 connections each may need 3,215; "
        "raise it to 3215, or use a smaller --set concurrency_value or fewer calls at once"
    )


def test_one_host_is_one_and_the_least_memory_that_is_the_most_is_said_once():
    cells = [a_cell_of("copy_host", "parallel_limit=1000", "concurrency_value=1", target="local")]
    finding = checks_machine.local_limits(cells, float("inf"), float("inf"))
    assert finding.found == "1 host with up to 1,000 connections stays below `ulimit -Hn` and `ulimit -u`"
    assert checks_machine.local_memory([a_cell_of("copy", target="local")], 5000).found.endswith("needs 527")


def test_the_embedded_aws_has_no_limit_for_hosts():
    assert [finding.check for finding in checks_account.emulator(cells_of("copy_host"))] == ["emulator"]
    assert [finding.check for finding in checks_account.emulator(cells_of("copy"))] == ["emulator", "concurrency"]
