"""`stampede doctor` and the refusals of a sweep: rules of the plan, this machine, and an AWS that says no."""

import argparse
import csv
import io
import json
import stat
from pathlib import Path

import pytest

from experiments import EXPERIMENTS
from stampede.cli.verbs import doctor
from stampede.cli.verbs import doctor as options
from stampede.emulator import opentofu, providers
from stampede.errors import UsageError
from stampede.finding import OK, PROBLEM, WARNING
from stampede.planning import checks, predicting
from stampede.planning import rules as checks_plan
from stampede.planning.checks import account as checks_account
from stampede.planning.checks import machine as checks_machine
from stampede.planning.demand import Pollers, demands
from stampede.planning.plan import make_plan
from stampede.stacks import endpoints
from tests.fakes.account import FakeAccount
from tests.unit.loader.download_cells import a_cell
from tests.unit.loader.foreseen_floods import each_takes
from tests.unit.loader.predicted_cells import AT_HALF


def plan(*settings, target="aws", **options):
    return make_plan(EXPERIMENTS["download"], target, settings, **({"messages_per_concurrency": 10} | options))


def cell(**values):
    return a_cell(**({"concurrency": 10, "messages": 100} | values))


def run_doctor(*arguments):
    parser = argparse.ArgumentParser()
    options.add_arguments(parser)
    return doctor.run(parser.parse_args(arguments))


@pytest.fixture
def aws(monkeypatch):
    """Credentials, and a function that lets the doctor look at a stub."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATEST")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setattr(endpoints, "is_aws", lambda url: True)  # the stub stands for it

    def findings(stub, *settings):
        monkeypatch.setenv("AWS_ENDPOINT_URL", stub.url)
        return {finding.check: finding for finding in checks.run(plan(*settings), [checks.ACCOUNT])}

    return findings


# The plan


def test_the_published_matrix_keeps_all_rules():
    assert {finding.status for finding in checks.run(plan(), [checks.PLAN])} == {OK}


@pytest.mark.parametrize(
    ("experiment", "setting", "words"),
    [
        ("copy", "object_count=0", "object_count: must be a whole number from 1 to 100000000, got 0; correct --set"),
        ("download", "memory_size=20000", "memory_size: must be a whole number of MB from 128 to 10240, got 20000; "),
        ("download", "timeout_s=901", "timeout_s: must be a whole number of seconds from 1 to 900, got 901; correct"),
        ("download", "range_part_mb=65", "range_part_mb: must be a whole number of MiB from 16 to 64, got 65; correct"),
        ("download", "visibility_timeout_s=60", "visibility_timeout_s: must be at least 6 x timeout_s = 360, got 60"),
        ("express", "scan_limit_mb=9", "scan_limit_mb: must be a whole number of MiB from 10 to 10485760, got 9; "),
        ("express", "express_bucket_name=mine", " or the *.tfvars file of infra/; the name of the S3 Standard"),
    ],
)
def test_what_infra_takes_from_nobody_is_a_problem_before_the_sweep_begins_and_nothing_else_is_looked_at(
    experiment, setting, words
):
    sweep_plan = make_plan(EXPERIMENTS[experiment], "local", [setting], messages_per_concurrency=5)
    matrix, problem = checks_plan.check(demands(sweep_plan), EXPERIMENTS[experiment], "local")
    assert (matrix.check, problem.status) == ("matrix", PROBLEM)
    assert words in f"{problem.check}: {problem.sentence}"


def test_every_variable_out_of_bounds_is_named():
    sweep_plan = make_plan(EXPERIMENTS["download"], "aws", ["memory_size=1", "timeout_s=0"], messages_per_concurrency=5)
    problems = checks_plan.out_of_bounds(demands(sweep_plan))
    assert [problem.check for problem in problems] == ["memory_size", "timeout_s"]


def test_a_download_longer_than_the_timeout_is_a_problem_and_a_near_one_a_warning():
    assert checks_plan.time_limit([cell(timeout_s=60)], "download", "aws").status == OK
    unknown = checks_plan.time_limit([cell(timeout_s=60, longest_s=0.0)], "download", "aws")
    assert unknown.found == "not predicted; timeout_s is 60"
    assert checks_plan.time_limit([cell(timeout_s=17)], "download", "aws").status == WARNING
    finding = checks_plan.time_limit([cell(timeout_s=16)], "download", "aws")  # 13.24 s and 3 s to write the record
    assert (finding.status, finding.way_out.split(",")[0]) == (PROBLEM, "use --set timeout_s=34")


def test_the_wait_at_the_barrier_counts_against_the_timeout():
    finding = checks_plan.time_limit([cell(barrier_s=50.0)], "download", "aws")
    assert finding.status == PROBLEM
    assert "after 50 s at the start barrier" in finding.found


@pytest.mark.parametrize("target", ["local", "aws"])
def test_a_barrier_that_no_timeout_leaves_room_for_is_a_problem_everywhere(target):
    finding = checks_plan.time_limit([cell(barrier_s=3.0, timeout_s=6, longest_s=0.25)], "download", target)
    assert finding.status == PROBLEM
    assert finding.found.startswith("a start barrier of 3 s and 3 s for the record don't fit into timeout_s 6")
    assert finding.way_out.startswith("use --set timeout_s=1")


def test_more_than_a_thousand_at_once_needs_provisioned_pollers():
    finding = checks_plan.trigger([cell(concurrency=1001)])
    assert (finding.status, "provisioned_pollers" in finding.way_out) == (PROBLEM, True)


@pytest.mark.parametrize(
    ("minimum", "maximum", "concurrency", "status", "words"),
    [
        (2, 50, 500, OK, "provisioned pollers"),
        (2, 49, 500, PROBLEM, "reach 490 functions at once, but concurrency_value is 500"),
        (2, 101, 500, OK, "provisioned pollers"),
        (2, 102, 500, WARNING, "fetch for 1,020 functions at once, but only 500 may run; the rest is throttled"),
        (2, 2, 1, OK, "provisioned pollers"),
        (2, 3, 1, WARNING, "fetch for 30 functions at once, but only 1 may run"),
        (1, 50, 500, PROBLEM, "a minimum of 2 to 200"),
        (2, 10_001, 500, PROBLEM, "a maximum of 2 to 10000"),
        (60, 50, 500, PROBLEM, "that isn't below the minimum"),
    ],
)
def test_pollers_that_miss_n_or_go_far_beyond_it_are_named_with_those_that_would_do(
    minimum, maximum, concurrency, status, words
):
    finding = checks_plan.trigger([cell(), cell(concurrency=concurrency, pollers=Pollers(minimum, maximum))])
    assert finding.status == status
    assert words in finding.found
    if status != OK:
        least = {1: 2}.get(concurrency, 50)
        assert finding.way_out.endswith(f",maximum={least}}}")
        again = checks_plan.trigger([cell(concurrency=concurrency, pollers=Pollers(2, least))])
        assert again.status == OK


def test_a_problem_with_pollers_comes_before_a_warning():
    finding = checks_plan.trigger([cell(pollers=Pollers(2, 9)), cell(concurrency=500, pollers=Pollers(2, 9))])
    assert finding.status == PROBLEM


# The machine


def fake_terraform(folder, version_line):
    program = folder / "terraform"
    program.write_text(f"#!/bin/sh\necho '{version_line}'\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program)


@pytest.mark.parametrize(
    ("version", "status"), [("1.9.0", OK), ("1.10.2", OK), ("2.0.0-rc1", OK), ("1.8.5", PROBLEM), ("0.15.3", PROBLEM)]
)
def test_terraform_must_be_1_9_or_newer(tmp_path, monkeypatch, version, status):
    monkeypatch.setenv("STAMPEDE_TERRAFORM", fake_terraform(tmp_path, f"Terraform v{version}\non linux_amd64"))
    finding = checks_machine.terraform()
    assert (finding.status, f"Terraform {version}" in finding.found) == (status, True)


def test_a_program_that_is_not_terraform_is_a_problem_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("STAMPEDE_TERRAFORM", fake_terraform(tmp_path, "hello"))
    finding = checks_machine.terraform()
    assert (finding.status, "\n" in finding.sentence) == (PROBLEM, False)
    assert "STAMPEDE_TERRAFORM" in finding.way_out


@pytest.fixture
def bare_machine(tmp_path, monkeypatch):
    """A machine with an empty cache and nothing on its PATH; returns the one folder that is on it."""
    monkeypatch.delenv("STAMPEDE_TERRAFORM", raising=False)
    monkeypatch.setenv("STAMPEDE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_without_terraform_and_go_the_fix_is_to_install_either(bare_machine):
    finding = checks_machine.terraform()
    assert (finding.status, finding.way_out) == (PROBLEM, "install Terraform >= 1.9, or Go >= 1.25")
    assert "`tofu` is on the PATH, nor `go`, which could build OpenTofu 1.10.7" in finding.found
    assert [finding.status for finding in checks_machine.provider_and_go()] == [WARNING]


def test_without_terraform_opentofu_will_be_built_and_nothing_is_built_now(bare_machine):
    (bare_machine / "go").write_text("")
    (bare_machine / "go").chmod(0o755)
    finding = checks_machine.terraform()
    assert (finding.status, finding.way_out) == (WARNING, "`make setup` builds it now")
    assert "the first run builds OpenTofu 1.10.7 from source, 4 to 7 minutes" in finding.found
    assert not (bare_machine / "cache").exists()


@pytest.mark.parametrize("where", ["found", "built here"])
def test_opentofu_is_named_and_said_to_be_built_here_where_it_was(bare_machine, monkeypatch, where):
    program = bare_machine / "tofu"
    Path(fake_terraform(bare_machine, "OpenTofu v1.10.7\non linux_amd64")).rename(program)
    monkeypatch.setattr(opentofu, "built", lambda: str(program) if where == "built here" else None)
    finding = checks_machine.terraform()
    assert finding.status == OK
    assert finding.found.startswith("OpenTofu 1.10.7 (")
    assert ("built here" in finding.found) == (where == "built here")


@pytest.fixture
def no_mirror(tmp_path, monkeypatch):
    """A machine with Terraform, no built provider and no CLI config of its own."""
    terraform = fake_terraform(tmp_path, "Terraform v1.11.4\non linux_amd64")
    monkeypatch.setenv("STAMPEDE_TERRAFORM", terraform)
    monkeypatch.setenv("STAMPEDE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("TF_CLI_CONFIG_FILE", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_a_registry_that_answers_needs_no_go(no_mirror, monkeypatch):
    monkeypatch.setattr(providers, "registry_answers", lambda host: True)
    provider, go = checks_machine.provider_and_go()
    assert (provider.status, provider.found, go.status) == (OK, "registry.terraform.io answers", OK)


@pytest.mark.parametrize(
    ("printed", "status"), [("go1.19.13", PROBLEM), ("", PROBLEM), ("go1.22.0", OK), ("go1.26.0", OK)]
)
def test_a_go_that_can_neither_build_the_provider_nor_get_a_newer_one_is_a_problem(
    no_mirror, monkeypatch, printed, status
):
    monkeypatch.setattr(providers, "registry_answers", lambda host: False)
    monkeypatch.setattr(checks_machine, "go_version", lambda go: printed)
    monkeypatch.setattr("stampede.emulator.go_build.go_version", lambda go: printed)
    _, go = checks_machine.provider_and_go()
    assert (go.status, "Go >= 1.25 is needed" in go.found) == (status, status == PROBLEM)


def test_without_registry_and_mirror_the_provider_will_be_built_and_nothing_is_built_now(no_mirror, monkeypatch):
    monkeypatch.setattr(providers, "registry_answers", lambda host: False)
    provider, _ = checks_machine.provider_and_go()
    assert (provider.status, provider.way_out) == (WARNING, "`make setup` builds it now")
    assert not (no_mirror / "cache").exists()


def test_a_missing_go_is_a_problem_only_where_the_provider_must_be_built(no_mirror, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name, **_: None if name == "go" else str(no_mirror / "terraform"))
    monkeypatch.setattr(providers, "registry_answers", lambda host: False)
    assert checks_machine.provider_and_go()[1].status == PROBLEM
    monkeypatch.setattr(providers, "registry_answers", lambda host: True)
    assert checks_machine.provider_and_go()[1].status == OK


def test_an_old_python_is_a_problem():
    assert checks_machine.python((3, 10, 4)).status == PROBLEM
    assert checks_machine.python((3, 12, 0)).status == OK


def test_memory_for_n_copies_of_the_object_is_ok_a_warning_or_a_problem():
    cells = [cell(object_size_mb=64, concurrency=10)]
    # 500 for the emulator, 64 for the object, 10 x 44 for the processes = 1,004; and 10 x 64 for the copies = 1,644.
    assert checks_machine.local_memory(cells, 1644).status == OK
    assert checks_machine.local_memory(cells, 1643).status == WARNING
    assert checks_machine.local_memory(cells, 1003).status == PROBLEM
    assert checks_machine.local_memory(cells, None).status == WARNING


def test_500_functions_in_go_fit_into_a_machine_that_holds_500_in_python_not_by_far():
    go, python = (cell(object_size_mb=1, concurrency=500, method=method) for method in ("go_stream", "download_file"))
    assert checks_machine.local_memory([go], 3_600).status == OK
    assert checks_machine.local_memory([python], 20_000).status == PROBLEM


def test_more_functions_than_the_systems_limits_allow_are_a_problem_that_names_the_limit(monkeypatch):
    monkeypatch.setattr("sys.platform", "linux")
    cells = [cell(concurrency=500)]
    assert checks_machine.local_limits(cells, 2_700, 8_200).status == OK
    assert checks_machine.local_limits(cells, float("inf"), float("inf")).status == OK
    files = checks_machine.local_limits(cells, 2_699, 8_200)
    threads = checks_machine.local_limits(cells, 2_700, 8_199)
    assert files.sentence.startswith(
        "`ulimit -Hn` is 2,699, and 500 functions at once may need 2,700; raise it to 2700"
    )
    assert threads.sentence.startswith("`ulimit -u` is 8,199, and 500 functions at once may need 8,200")
    monkeypatch.setattr("sys.platform", "darwin")
    assert checks_machine.local_limits(cells, 2_700, 700).status == OK


def test_a_disk_too_small_for_n_copies_of_the_object_is_a_problem():
    cells = [cell(object_size_mb=64, concurrency=10)]
    assert checks_machine.local_disk(cells, 640 + 50).status == OK
    assert checks_machine.local_disk(cells, 640 + 49).status == PROBLEM


def test_a_sweep_far_too_large_for_this_machine_is_refused_before_it_starts():
    large = ["concurrency_value=1000", "object_size_mb=10000", "ephemeral_storage_mb=10240"]
    with pytest.raises(UsageError, match=r"local memory: .*use a smaller concurrency_value"):
        doctor.refuse_if_impossible(plan(*large, target="local", messages_per_concurrency=1))


# The account


def test_an_ordinary_account_holds_the_published_matrix(aws):
    with FakeAccount() as stub:
        findings = aws(stub)
    assert {name: finding.status for name, finding in findings.items()} == {
        "credentials": OK,
        "session": OK,
        "region": OK,
        "concurrency": OK,
        "memory cap": OK,
        "network quota": OK,
        "leftovers": OK,
    }
    assert findings["credentials"].found == "account 123456789012 as arn:aws:iam::123456789012:user/x"
    assert findings["network quota"].found == "not raised: about 0.6 Gbit/s for each function"


def test_other_functions_reservations_leave_less_for_the_matrix(aws):
    with FakeAccount(unreserved=599) as stub:  # 401 reserved elsewhere: 499 are left besides the 100
        finding = aws(stub)["concurrency"]
    assert finding.status == PROBLEM
    assert (
        "500 needed, 499 can be reserved: the account's concurrency limit is 1000, 401 reserved by other functions"
        in finding.found
    )
    assert "--quota-code L-B99A9384 --desired-value 1001 --region us-east-1" in finding.way_out
    assert "--set concurrency_value=... up to 499" in finding.way_out


def test_what_our_own_function_reserves_counts_as_free_for_it_and_is_named_as_a_leftover(aws):
    with FakeAccount(unreserved=500) as stub:
        stub.functions = {"stampede-download": 500, "elsewhere": 7}
        findings = aws(stub)
    assert (findings["concurrency"].status, "500 possible" not in findings["concurrency"].found) == (OK, True)
    assert findings["leftovers"].status == WARNING
    assert "stampede-download (reserves 500)" in findings["leftovers"].found
    assert "elsewhere" not in findings["leftovers"].found


def test_the_raised_network_quota_is_named_with_its_value(aws):
    quota = {"QuotaName": "Network bandwidth per execution environment", "Value": 3000.0, "Unit": "Megabits/Second"}
    with FakeAccount(quotas=[{"QuotaName": "Concurrent executions", "Value": 1000.0}, quota]) as stub:
        assert aws(stub)["network quota"].found.startswith("3000 Megabits/Second; doctor and sweep predict without it")


def test_memory_above_3008_mb_is_a_warning_in_an_account_that_looks_new(aws):
    with FakeAccount(limit=500, unreserved=500) as stub:
        assert aws(stub, "memory_size=4096")["memory cap"].status == WARNING
    with FakeAccount() as stub:
        assert aws(stub, "memory_size=4096")["memory cap"].status == OK


@pytest.mark.parametrize(
    ("operation", "check"),
    [
        ("ListServiceQuotas", "network quota"),
        ("GetAccountSettings", "concurrency"),
        ("ListFunctions", "leftovers"),
        ("GetRegionOptStatus", "region"),
    ],
)
def test_a_call_that_aws_denies_is_a_warning_in_one_line(aws, operation, check):
    with FakeAccount(refuse=[operation]) as stub:
        findings = aws(stub)
    assert (findings[check].status, "unknown" in findings[check].found) == (WARNING, True)
    assert [finding.check for finding in findings.values() if finding.status == PROBLEM] == []
    assert "\n" not in findings[check].sentence


def test_a_region_that_is_switched_off_is_a_problem_with_the_command_that_switches_it_on(aws):
    with FakeAccount(region="DISABLED") as stub:
        finding = aws(stub)["region"]
    assert finding.status == PROBLEM
    assert "aws account enable-region --region-name us-east-1" in finding.way_out


def test_credentials_that_aws_rejects_end_the_questions(aws):
    with FakeAccount(refuse=["sts"]) as stub:
        findings = aws(stub)
    assert list(findings) == ["credentials"]
    assert "InvalidClientTokenId" in findings["credentials"].found


def test_no_credentials_and_a_profile_that_is_not_there_are_problems_with_the_fix(monkeypatch, tmp_path):
    [finding] = checks.run(plan(), [checks.ACCOUNT])
    assert (finding.check, finding.status, "make run" in finding.way_out) == ("credentials", PROBLEM, True)
    monkeypatch.setenv("AWS_PROFILE", "nosuch")
    [finding] = checks.run(plan(), [checks.ACCOUNT])
    assert (finding.check, finding.status, finding.found) == (
        "credentials",
        PROBLEM,
        "AWS_PROFILE: there is no profile 'nosuch' in ~/.aws/config or ~/.aws/credentials",
    )
    assert finding.way_out == "create it with `aws configure --profile nosuch`, or unset it"
    (tmp_path / "config").write_text("[profile dev]\nregion = us-east-1\n[profile prod]\nregion = us-east-1\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    [finding] = checks.run(plan(), [checks.ACCOUNT])
    assert finding.way_out == "set it to one of these: dev, prod, or unset it"


def test_an_endpoint_that_does_not_answer_is_a_problem(aws):
    class Nowhere:
        url = "http://127.0.0.1:9"

    findings = aws(Nowhere)
    assert (list(findings), findings["credentials"].status) == (["credentials"], PROBLEM)
    assert "no answer in us-east-1" in findings["credentials"].found


def test_a_mistyped_region_is_a_problem_that_suggests_the_right_one():
    [finding] = checks_account.check([cell()], "us-est-1", "stampede", "download", 60.0)
    assert (finding.check, finding.status, "us-east-1" in finding.way_out) == ("region", PROBLEM, True)
    assert finding.found == "AWS Lambda has no region 'us-est-1'"


def test_a_matrix_that_the_account_cannot_hold_is_refused_in_one_line(aws, monkeypatch):
    with FakeAccount(limit=10, unreserved=10) as stub:
        monkeypatch.setenv("AWS_ENDPOINT_URL", stub.url)
        with pytest.raises(UsageError) as refusal:
            doctor.refuse_if_impossible(plan())
    words = str(refusal.value)
    assert words.startswith(
        "concurrency: 500 needed, 0 can be reserved: the account's concurrency limit is 10, and 100 must stay"
    )
    assert "--desired-value 1000 " in words
    assert "\n" not in words


# The verb


@pytest.fixture
def machine(monkeypatch):
    """Tools that are there, so that only the account decides, and a model that says so much of every cell."""
    monkeypatch.setattr(checks_machine, "tools", list)
    monkeypatch.setattr(checks, "holder", lambda option: None)  # another test may hold the stack of this checkout
    each_takes(monkeypatch, 13.24)
    monkeypatch.setattr(predicting, "prediction", lambda *_: AT_HALF)


def test_the_doctor_ends_with_0_without_a_problem_and_with_1_at_one(aws, machine, monkeypatch, capsys):
    with FakeAccount() as stub:
        monkeypatch.setenv("AWS_ENDPOINT_URL", stub.url)
        assert run_doctor("--target", "aws", "--budget-usd", "6") == 0
        assert run_doctor("--target", "aws", "--budget-usd", "5") == 1
    out = capsys.readouterr().out
    assert "[fail]  budget" in out
    assert out.endswith("1 problem\n")
    assert "raise --budget-usd" in out


def test_the_table_has_what_is_right_in_a_line_and_the_bill(aws, machine, monkeypatch, capsys):
    with FakeAccount() as stub:
        monkeypatch.setenv("AWS_ENDPOINT_URL", stub.url)
        run_doctor("--target", "aws")
    lines = capsys.readouterr().out.splitlines()
    [passed] = [line for line in lines if line.startswith("[")]
    assert passed.startswith("[ok]") and ", time in full overlap, " in passed
    assert lines[-1] == "all 18 checks passed"
    assert any("GET and HEAD" in line and "1,718,280" in line for line in lines)
    assert any(line.startswith("cost: about 5.15 USD") and "prices of 2026-05" in line for line in lines)


def test_json_is_one_object_with_checks_and_cost(machine, capsys):
    assert run_doctor("--target", "aws", "--format", "json") == 1  # no credentials
    printed = json.loads(capsys.readouterr().out)
    assert printed["checks"][-1]["check"] == "budget"
    assert printed["cost"]["total_usd"] == pytest.approx(5.15, abs=0.01)


def test_csv_has_a_row_for_each_check(machine, capsys):
    run_doctor("--target", "aws", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {row["status"] for row in rows} <= {OK, WARNING, PROBLEM}
    assert [row["check"] for row in rows if row["status"] == PROBLEM] == ["credentials"]


def test_a_results_folder_that_cannot_be_written_is_a_problem_before_anything_starts(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        finding = checks_machine.results_folder([cell()], folder)
        assert (finding.status, finding.found) == (PROBLEM, f"{tmp_path / 'file'} is a file, not a folder")
        assert "--results-dir" in finding.way_out
        [same] = [
            finding for finding in checks.run(plan(), [checks.ROOM], results_dir=folder) if finding.status == PROBLEM
        ]
        assert same == finding
    assert checks_machine.results_folder([cell()], tmp_path / "new" / "folder").status == OK
    monkeypatch.setattr(checks_machine.os, "access", lambda *_: False)
    finding = checks_machine.results_folder([cell()], tmp_path / "new")
    assert (finding.status, finding.found) == (PROBLEM, f"no permission to write into {tmp_path}")


def test_a_run_that_is_resumed_in_a_folder_that_cannot_be_written_is_made_writable_or_copied(tmp_path, monkeypatch):
    (tmp_path / "run.json").write_text("{}")
    monkeypatch.setattr(checks_machine.os, "access", lambda *_: False)
    assert checks_machine.results_folder([cell()], tmp_path).way_out == (
        "make it writable, or copy the run into a folder in which you may write, and name that folder with "
        "--results-dir"
    )


def test_a_results_folder_on_a_full_disk_is_a_problem(tmp_path, monkeypatch):
    monkeypatch.setattr(checks_machine, "_free_mb", lambda _: 49)
    finding = checks_machine.results_folder([cell()], tmp_path)
    assert (finding.status, finding.found) == (PROBLEM, f"49 MB free in {tmp_path}; 50 needed for the results")


def test_a_cache_folder_that_cannot_be_written_is_a_problem_only_where_something_must_be_built(tmp_path):
    (tmp_path / "file").touch()
    assert checks_machine.cache(tmp_path / "file", needed=True).status == PROBLEM
    assert checks_machine.cache(tmp_path / "file", needed=False).status == WARNING
    assert checks_machine.cache(tmp_path / "cache", needed=True).status == OK


def test_a_state_folder_that_cannot_be_written_is_a_problem(tmp_path):
    (tmp_path / "file").touch()
    assert checks_machine.state(tmp_path / "file").status == PROBLEM
    assert checks_machine.state(tmp_path / "folder").status == OK
    assert "(No such file or directory)" in checks_machine.state(Path("/proc/x")).found


def test_the_tools_look_at_the_cache_folder_with_what_has_to_be_built(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("STAMPEDE_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setattr(providers, "registry_answers", lambda _: False)
    monkeypatch.setattr(providers, "_own_mirror_config", lambda: None)
    assert [finding.status for finding in checks_machine.tools() if finding.check == "cache folder"] == [PROBLEM]


def test_more_functions_than_the_emulator_will_allow_are_refused_before_it_is_started(monkeypatch):
    assert checks_account.emulator([cell(concurrency=1000)])[1].status == OK
    assert checks_account.emulator([cell(concurrency=1001)])[1].status == PROBLEM
    monkeypatch.setenv("LAMBDA_ACCOUNT_CONCURRENCY", "10")
    finding = checks_account.emulator([cell(concurrency=11)])[1]
    assert (finding.status, finding.found) == (PROBLEM, "11 needed, the embedded AWS runs 10 at once")


def test_a_local_sweep_is_looked_at_without_an_account(machine, capsys):
    assert run_doctor("--set", "object_size_mb=1") == 0
    out = capsys.readouterr().out
    assert ", emulator, " in out
    assert "cost: nothing on this machine" in out
