"""Plans that can't work or would waste money are reported before an apply, with the way out.
tests/contract checks that the default matrices are fine."""

import pytest

from download.methods import METHODS
from experiments import EXPERIMENTS, go_program
from experiments.download import checks as download_checks
from experiments.download import usage as download_usage
from experiments.download.declaration import default_sink
from experiments.filesystem.usage import is_mounted
from filesystem.settings import MOUNTED_STORAGES, S3_STORAGES
from stampede.finding import OK, PROBLEM, WARNING
from stampede.variable_rules import RULES
from tests.unit.plans import values


@pytest.fixture(autouse=True)
def built(monkeypatch):
    monkeypatch.setattr(go_program, "missing", lambda architecture: None)
    monkeypatch.setattr(download_checks, "BUILT", {})


def wrong(experiment, *cells):
    """The findings about cells with these changes that aren't ok: check, status and sentence."""
    findings = EXPERIMENTS[experiment].checks([values(experiment, **changes) for changes in cells])
    return [
        (finding.check, finding.status, finding.sentence)
        for finding in findings
        if finding.status != OK
    ]


LARGE = {"operation": "download", "object_bytes": 100_000_000, "object_count": 1000, "slices": 1}
QUERY = {"operation": "count", "object_bytes": 2**20}
OWN = {"existing_bucket": True, "s3_bucket_name": "my-own"}
SLICES = {"from_manifest": True}
CRT = {"method": "crt", "architecture": "arm64"}
MEMORY = {"method": "ranges", "sink": "memory"}
HUGE = {"object_size_mb": 20_000, "ephemeral_storage_mb": 10_240}


@pytest.mark.parametrize(
    ("experiment", "changes"),
    [
        ("copy", {"object_count": 219_121}),  # a list that has to fit into no dates
        ("copy", SLICES | {"concurrency_value": 2}),
        ("copy_host", {"parallel_limit": 400}),
        ("copy_host", {"parallel_limit": 2000, "retry_attempts": 20}),  # hardly any object fails
        ("copy_host", {"parallel_limit": 2000, "pace": "adaptive"}),
        ("download", {"object_size_mb": 1024, "ephemeral_storage_mb": 1088}),
        ("download", MEMORY | {"memory_size": 1152}),
        ("download", HUGE | {"method": "ranges", "sink": "discard"}),
        ("express", QUERY | {"object_count": 20_000}),
        ("express", {"zone_id": "use1-az5", "express_bucket_name": f"{'a' * 47}--use1-az5--x-s3"}),
        ("express", LARGE | {"parallel_limit": 64, "ephemeral_storage_mb": 6168}),
        ("express", LARGE | {"operation": "upload", "parallel_limit": 128}),
    ],
)
def test_plans_that_can_work_are_ok(experiment, changes):
    assert wrong(experiment, changes) == []


@pytest.mark.parametrize(
    ("experiment", "changes", "check", "status", "words"),
    [
        ("copy", {"concurrency_value": 2}, "mode", PROBLEM, "from_manifest=true"),
        ("copy", {"parallel_limit": 1001}, "connections", WARNING, "1,024 file descriptors"),
        ("copy", SLICES | {"date_to": "2014-12-31"}, "key plan", PROBLEM, "swap"),
        ("copy_host", {"object_count": 219_121}, "key plan", PROBLEM, "objects_per_folder = 6"),
        ("copy_host", {"parallel_limit": 2000}, "rate", WARNING, "14,440 calls/s"),
        ("download", {"method": "crt", "sink": "discard"}, "method", PROBLEM, "sink=tmp"),
        ("download", {"method": "crt", "memory_size": 256}, "method", WARNING, "memory_size=512"),
        (
            "download",
            MEMORY | {"memory_size": 1151},
            "object and memory",
            PROBLEM,
            "memory_size=1152",
        ),
        (
            "download",
            {"ephemeral_storage_mb": 1087},
            "object and /tmp",
            PROBLEM,
            "ephemeral_storage_mb=1088",
        ),
        ("download", HUGE, "object and /tmp", PROBLEM, "use a smaller object_size_mb"),
        ("download", HUGE | OWN, "object and /tmp", PROBLEM, "method=stream"),
        ("download", {"existing_bucket": True}, "object and bucket", PROBLEM, "which says both"),
        ("download", {"requester_pays": True}, "object and bucket", PROBLEM, "object=s3://"),
        (
            "download",
            OWN | {"server_side_proof": True},
            "object and bucket",
            PROBLEM,
            "leave it out",
        ),
        ("express", {"region": "eu-central-1"}, "zone", PROBLEM, "eu-central-1"),
        ("express", {"zone_id": "use1-az1"}, "zone", PROBLEM, "use1-az4, use1-az5"),
        (
            "express",
            {"express_bucket_name": "mine--use1-az5--x-s3"},
            "zone",
            PROBLEM,
            "--use1-az4--x-s3",
        ),
        ("express", {"object_count": 5, "slices": 6}, "slices", PROBLEM, "slices=5"),
        (
            "express",
            LARGE | {"parallel_limit": 64, "ephemeral_storage_mb": 6167},
            "/tmp",
            PROBLEM,
            "ephemeral_storage_mb=6168",
        ),
        ("express", LARGE | {"parallel_limit": 128}, "/tmp", PROBLEM, "; use a smaller"),
        ("express", QUERY | {"object_count": 20_001}, "scan limit", PROBLEM, "scan_limit_mb=20001"),
        ("filesystem", {"storage": "s3files"}, "storage", PROBLEM, "with_s3files=true"),
        # One MiB less is refused by infra/tests/refusals.tftest.hcl too.
        (
            "filesystem",
            {"dataset": "large", "large_file_mb": 1, "small_files": 22200},
            "data set and /tmp",
            PROBLEM,
            "ephemeral_storage_mb=1229",
        ),
        (
            "filesystem",
            {"dataset": "large", "ephemeral_storage_mb": 512},
            "data set and /tmp",
            PROBLEM,
            "ephemeral_storage_mb=1088",
        ),
    ],
)
def test_a_plan_that_cannot_work_is_reported_with_the_way_out(
    experiment, changes, check, status, words
):
    [(name, found, sentence)] = wrong(experiment, changes)
    assert (name, found, words in sentence) == (check, status, True)


@pytest.mark.parametrize(
    ("experiment", "cells", "words"),
    [
        ("express", [{}, {"zone_id": "use1-az6"}], "2 values of zone_id"),
        (
            "express",
            [{}, {"express_bucket_name": "own--use1-az4--x-s3"}],
            "2 values of express_bucket",
        ),
        ("download", [OWN, OWN | {"s3_file_name": "k"}], "one object"),
        ("filesystem", [{}, {"throughput_mode": "bursting"}], "24 hours"),
        # A problem counts before the warning of an earlier cell.
        ("download", [CRT | {"memory_size": 256}, CRT | {"sink": "discard"}], "sink=tmp"),
    ],
)
def test_settings_that_a_sweep_must_not_change_between_cells_are_a_problem(
    experiment, cells, words
):
    [(_, status, sentence)] = wrong(experiment, *cells)
    assert status == PROBLEM and words in sentence


# What has to be built


@pytest.mark.parametrize(
    ("experiment", "changes", "needed"),
    [
        ("copy_host", {"instance_type": "m5a.8xlarge"}, "transfer/build/x86_64/bootstrap"),
        ("copy_host", {"instance_type": "c6gn.large"}, "transfer/build/arm64/bootstrap"),
        ("download", CRT, "download/build/arm64/python/awscrt/__init__.py"),
        ("download", {"method": "go_stream", "sink": None}, "transfer/build/x86_64/bootstrap"),
    ],
)
def test_a_missing_build_for_the_processor_is_a_problem(
    monkeypatch, tmp_path, experiment, changes, needed
):
    monkeypatch.undo()
    for module in (go_program, download_checks):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    [(_, status, sentence)] = wrong(experiment, changes)
    assert status == PROBLEM and needed in sentence and "make functions" in sentence
    path = tmp_path / "functions" / needed
    path.parent.mkdir(parents=True)
    path.touch()
    assert wrong(experiment, changes) == []


def test_infra_and_the_function_have_the_same_methods_and_sinks():
    assert download_usage.PROCESS_MB.keys() == download_checks.SINKS.keys()
    for method, sinks in METHODS.items():
        assert (set(download_checks.SINKS[method]), default_sink(method)) == (set(sinks), sinks[0])


def test_infra_and_the_function_have_the_same_storages():
    assert set(RULES["storage"].choices) == {*S3_STORAGES, *MOUNTED_STORAGES}
    mounted = [name for name in RULES["storage"].choices if is_mounted({"storage": name})]
    assert mounted == list(MOUNTED_STORAGES)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "No such file"),
        ("{", "must be the path of a JSON policy"),
        (
            '{"Statement": [{"Effect": "Allow", "Resource": "*"}]}',
            "must be the path of a JSON policy",
        ),
        (
            '{"Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}',
            "allows all actions",
        ),
        ('{"Statement": {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}}', ""),
    ],
)
def test_a_policy_that_terraform_would_refuse_is_refused_before_anything_is_applied(
    tmp_path, text, words
):
    path = tmp_path / "policy.json"
    if text is not None:
        path.write_text(text)
    lines = wrong("function", {"policy_file": str(path)})
    assert [words in sentence for *_, sentence in lines] == [True] * bool(words)
