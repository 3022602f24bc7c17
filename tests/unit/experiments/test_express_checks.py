"""What the storage class experiment looks at before anything is put up."""

import pytest

from experiments import go_program
from experiments.express.checks import checks
from stampede.finding import OK, PROBLEM, WARNING
from stampede.planning import rules as plan_checks
from stampede.planning.checks import account
from tests.unit.experiments.express_values import LARGE, cell
from tests.unit.experiments.test_express_usage import demand


@pytest.fixture(autouse=True)
def built(monkeypatch, tmp_path):
    monkeypatch.setattr(go_program, "ROOT", tmp_path)
    path = tmp_path / go_program.BUILT.format(architecture="arm64")
    path.parent.mkdir(parents=True)
    path.touch()
    return path


def by_check(*cells):
    return {finding.check: finding for finding in checks(cells)}


def test_the_published_cells_pass():
    cells = [cell(operation, kind) for operation in ("upload", "download") for kind in ("standard", "express")]
    assert {finding.status for finding in checks([*cells, cell("count", object_count=700_000)])} == {OK}


@pytest.mark.parametrize(
    ("name", "values"), [("zone_id", (None, "use1-az6")), ("express_bucket_name", (None, "own--use1-az4--x-s3"))]
)
def test_a_sweep_keeps_one_directory_bucket(name, values):
    zone = by_check(*(cell(**{name: value}) for value in values))["zone"]
    assert (zone.status, zone.found) == (PROBLEM, f"2 values of {name}: a sweep keeps one directory bucket")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"region": "eu-central-1"}, "One Zone isn't available in eu-central-1; use --set region=... with one of"),
        ({"zone_id": "use1-az1"}, "in us-east-1, S3 Express One Zone is available in use1-az4, use1-az5, use1-az6"),
        ({"express_bucket_name": "mine--use1-az4--x-s3", "zone_id": "use1-az5"}, "must end in --use1-az5--x-s3"),
    ],
)
def test_a_region_a_zone_or_a_bucket_without_express_is_refused_before_terraform_does(values, words):
    problem = by_check(cell(), cell(**values))["zone"]
    assert problem.status == PROBLEM and words in problem.sentence


def test_a_bucket_of_the_zone_passes_and_no_zone_is_the_regions_first():
    named = {"express_bucket_name": f"{'a' * 47}--use1-az5--x-s3", "zone_id": "use1-az5"}
    assert (by_check(cell(**named))["zone"].status, by_check(cell())["zone"].found) == (
        OK,
        "S3 Express One Zone in use1-az4",
    )


def test_more_slices_than_objects_are_refused():
    problem = by_check(cell(object_count=5, slices=6))["slices"]
    assert (problem.status, problem.way_out) == (PROBLEM, "use --set slices=5 or less")
    assert by_check(cell(object_count=1, slices=2))["slices"].found.startswith("2 slices for 1 object: ")


def test_what_a_download_holds_at_once_has_to_fit_into_tmp():
    at_once = {"object_bytes": LARGE, "object_count": 1000}
    # 64 x 100,000,000 bytes are 6,104 MiB, and 64 more for the file system.
    assert by_check(cell(**at_once, parallel_limit=64, ephemeral_storage_mb=6168))["/tmp"].status == OK
    problem = by_check(cell(**at_once, parallel_limit=64, ephemeral_storage_mb=6167))["/tmp"]
    assert problem.status == PROBLEM and "use --set ephemeral_storage_mb=6168, or a smaller" in problem.way_out
    beyond = by_check(cell(**at_once, parallel_limit=128))["/tmp"]
    assert beyond.way_out == "use a smaller parallel_limit or object_bytes"  # Lambda has no more than 10,240 MB
    assert by_check(cell("upload", **at_once, parallel_limit=128))["/tmp"].status == OK
    assert by_check(cell(**at_once | {"object_count": 10}, parallel_limit=128))["/tmp"].status == OK


def test_more_requests_than_a_prefix_of_standard_takes_are_a_warning_and_express_has_no_such_limit():
    busy = {"parallel_limit": 64, "concurrency_value": 3}
    warning = by_check(cell("upload", **busy))["rate"]
    assert warning.status == WARNING
    assert "uploads reach about 4,256 requests/s; S3 Standard takes 3,500 requests/s per prefix" in warning.found
    assert by_check(cell("download", **busy | {"concurrency_value": 2}))["rate"].status == OK  # 5,500 for reads
    assert by_check(cell("upload", "express", **busy))["rate"].status == OK


def test_a_query_that_scans_more_than_the_workgroup_allows_is_refused_before_it_is_cancelled():
    assert by_check(cell("count", object_bytes=2**20, object_count=20_000))["Athena"].status == OK
    problem = by_check(cell("count", object_bytes=2**20, object_count=20_001))["Athena"]
    assert problem.status == PROBLEM
    assert problem.sentence.startswith(
        "a query scans 20,001 MiB, but scan_limit_mb is 20,000; use --set scan_limit_mb="
    )


def test_a_query_that_may_outlive_its_limit_is_a_warning():
    warning = by_check(cell("count", object_count=700_000, query_limit_s=60))["Athena"]
    assert warning.status == WARNING and "use --set query_limit_s=152" in warning.way_out


def test_a_program_that_is_not_built_is_a_problem_with_the_command(built):
    built.unlink()
    assert by_check(cell())["program"].way_out == "run `make functions`"


# Together with what every experiment has


class Declared:
    operation = ("operation", "operations")
    checks = staticmethod(checks)
    by_size = None


def test_a_slice_that_outlives_its_function_is_a_problem_and_a_query_is_not_measured_by_its_timeout():
    query, slow = cell("count", object_bytes=1000, object_count=5_000_000), cell("upload", timeout_s=900)
    by_check = {
        finding.check: finding
        for finding in plan_checks.check([demand(query), demand(slow, longest_s=3190)], Declared, "aws")
    }
    problem = by_check["time limit"]
    assert (problem.status, "upload standard 10000" in problem.found) == (PROBLEM, True)
    assert "a smaller object_count, or more slices or a larger parallel_limit" in problem.way_out
    queries_alone = {finding.check for finding in plan_checks.check([demand(query)], Declared, "aws")}
    assert "time limit" not in queries_alone and {"trigger"} <= queries_alone


def test_a_plan_that_begins_with_a_query_is_looked_at_as_one_of_functions():
    query = cell("count", object_count=50)
    assert [finding.check for finding in account.emulator([demand(query), demand(cell())])] == [
        "emulator",
        "concurrency",
    ]
