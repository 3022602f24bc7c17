"""Plans of server-side copies that can't work, told with the way out; and what is said of those that can."""

import pytest

from experiments import go_program
from experiments.copy.checks import checks, host_checks
from stampede.finding import OK, PROBLEM, WARNING
from tests.unit.experiments.copy_values import function, host, slices


@pytest.fixture(autouse=True)
def built(monkeypatch):
    monkeypatch.setattr(go_program, "missing", lambda architecture: "")


def found(findings):
    return {finding.check: finding for finding in findings}


def test_the_published_plans_keep_all_rules():
    limits = [function(parallel_limit=limit) for limit in (1, 10, 20, 50, 100, 200, 500, 1000)]
    assert {finding.status for finding in checks(limits)} == {OK}
    findings = host_checks([host(parallel_limit=limit) for limit in (100, 2000)])
    # To find S3's limit is the experiment.
    assert [finding.check for finding in findings if finding.status != OK] == ["rate"]


@pytest.mark.parametrize(
    ("changes", "check", "words"),
    [
        ({"object_bytes": 6 * 2**30}, "key plan", "object_bytes must be a whole number of bytes from 1 to 5368709120"),
        ({"key_order": "shuffled"}, "key plan", "key_order must be straight or reversed_hash"),
    ],
)
def test_what_can_not_work_is_a_problem_of_functions_and_of_hosts(changes, check, words):
    for findings in (checks([slices(), slices(**changes)]), host_checks([host(), host(**changes)])):
        [problem] = [finding for finding in findings if finding.status == PROBLEM]
        assert (problem.check, words in problem.found, bool(problem.way_out)) == (check, True, True)


def test_a_manifest_has_to_fit_into_its_dates_and_a_listing_has_none():
    assert found(host_checks([host(object_count=219_120)]))["key plan"].status == OK
    single = {"object_count": 1, "object_bytes": 1}
    assert found(host_checks([host(**single)]))["key plan"].found == "1 object of 1 byte"
    larger = found(host_checks([host(**single), host(object_count=2, object_bytes=1)]))["key plan"]
    assert larger.found == "1 to 2 objects of 1 byte"
    problem = found(host_checks([host(object_count=219_121)]))["key plan"]
    assert (problem.status, "objects_per_folder = 6" in problem.way_out) == (PROBLEM, True)
    assert found(checks([function(object_count=219_121)]))["key plan"].status == OK


def test_more_than_one_function_needs_a_manifest():
    problem = found(checks([function(concurrency_value=2)]))["mode"]
    assert (problem.status, problem.way_out.split(",")[0]) == (PROBLEM, "use --set from_manifest=true")
    assert found(checks([slices(concurrency_value=2)]))["mode"].status == OK


def test_calls_at_once_beyond_the_limit_of_s3_are_a_warning_where_objects_may_fail():
    below, above = (found(host_checks([host(parallel_limit=limit)]))["rate"] for limit in (400, 2000))
    assert (below.status, above.status) == (OK, WARNING)
    assert "at most about 2,888 calls/s on AWS; S3 takes 3,500 calls/s per prefix" in below.found
    assert above.found.endswith(
        "at most about 14,440 calls/s on AWS; S3 takes 3,500 calls/s per prefix and answers SlowDown beyond that: with "
        "5 attempts and legacy retries, about 2.1 % of the objects may fail"
    )
    many = found(host_checks([host(parallel_limit=2000, retry_attempts=20)]))["rate"]
    assert many.status == OK
    assert many.found.endswith("with 20 attempts and legacy retries, hardly any objects may fail")
    adaptive = found(host_checks([host(parallel_limit=2000, pace="adaptive")]))["rate"]
    assert adaptive.found.endswith("the adaptive pace finds that limit")
    four = found(checks([slices(object_bytes=1_000_000, concurrency_value=4)]))["rate"]
    assert four.found.startswith("4 x 100 parallel calls reach at most about 2,888 calls/s on AWS")


def test_more_connections_than_a_function_has_file_descriptors_are_a_warning():
    assert found(checks([function(parallel_limit=1001)]))["connections"].status == WARNING
    assert "connections" not in found(host_checks([host(parallel_limit=2000)]))


def test_without_bucket_keys_kms_is_asked_twice_a_copy_and_that_is_a_warning():
    warning = found(host_checks([host(parallel_limit=2000, bucket_key=False)]))["KMS"]
    assert (warning.status, "up to 7,000 KMS requests/s" in warning.found) == (WARNING, True)
    assert "KMS" not in found(checks([function(bucket_key=False)]))


@pytest.mark.parametrize(
    ("instance_type", "architecture"), [("m5a.8xlarge", "x86_64"), ("m7g.4xlarge", "arm64"), ("c6gn.large", "arm64")]
)
def test_a_program_that_is_not_built_is_a_problem_with_the_command(monkeypatch, tmp_path, instance_type, architecture):
    monkeypatch.undo()
    monkeypatch.setattr(go_program, "ROOT", tmp_path)
    problem = found(host_checks([host(instance_type=instance_type)]))["program"]
    assert problem.found == f"functions/transfer/build/{architecture}/bootstrap isn't built"
    assert (problem.status, problem.way_out) == (PROBLEM, "run `make functions`")
    program = tmp_path / problem.found.split()[0]
    program.parent.mkdir(parents=True)
    for built_for, machine in (("x86_64", 0x3E), ("arm64", 0xB7)):
        program.write_bytes(b"\x7fELF" + bytes(14) + bytes([machine, 0]))
        expected = OK if built_for == architecture else PROBLEM
        assert found(host_checks([host(instance_type=instance_type)]))["program"].status == expected
