"""Plans that can't work, or would lose money, are told before anything is applied, with the way out."""

import pytest

from download.methods import METHODS
from experiments import EXPERIMENTS, go_program
from experiments.copy.checks import checks as of_functions
from experiments.copy.checks import host_checks as of_hosts
from experiments.download import checks as download_checks
from experiments.download import usage as download_usage
from experiments.download.declaration import default_sink
from experiments.express.checks import checks as of_express
from experiments.filesystem.usage import checks as of_filesystem
from stampede.finding import OK, PROBLEM, WARNING
from stampede.planning.plan import complete
from stampede.stacks.infra_variables import infra_defaults
from tests.unit.experiments.copy_values import function, host, slices
from tests.unit.experiments.express_values import LARGE
from tests.unit.experiments.express_values import cell as express
from tests.unit.experiments.test_filesystem_usage import CELL as FILES


@pytest.fixture(autouse=True)
def built(monkeypatch):
    monkeypatch.setattr(go_program, "missing", lambda architecture: "")
    monkeypatch.setattr(download_checks, "BUILT", {})


def download(**values):
    """The variables of a cell: infra's defaults but for `values`."""
    return complete(EXPERIMENTS["download"], infra_defaults({}) | values)


def wrong(findings):
    """What isn't ok: by check, its status and its sentence."""
    return {finding.check: (finding.status, finding.sentence) for finding in findings if finding.status != OK}


LARGE_SET = {"object_bytes": LARGE, "object_count": 1000}
OWN = {"existing_bucket": True, "s3_bucket_name": "my-own"}
BUSY = {"parallel_limit": 64, "concurrency_value": 3}
FINE = {
    "copies of functions, as published": (
        of_functions,
        [function(parallel_limit=limit) for limit in (1, 10, 20, 50, 100, 200, 500, 1000)],
    ),
    "a list that has to fit into no dates": (of_functions, [function(object_count=219_121)]),
    "functions that share a list": (of_functions, [slices(concurrency_value=2)]),
    "copies of a host, below S3's limit": (of_hosts, [host(parallel_limit=400)]),
    "with so many attempts hardly any object fails": (of_hosts, [host(parallel_limit=2000, retry_attempts=20)]),
    "an adaptive pace": (of_hosts, [host(parallel_limit=2000, pace="adaptive")]),
    "downloads": (download_checks.checks, [download(method=name) for name in METHODS]),
    "an object that just fits into /tmp": (
        download_checks.checks,
        [download(object_size_mb=1024, ephemeral_storage_mb=1088)],
    ),
    "an object that just fits into memory": (
        download_checks.checks,
        [download(method="ranges", sink="memory", memory_size=1152)],
    ),
    "an object that is thrown away": (
        download_checks.checks,
        [download(method="ranges", sink="discard", memory_size=128, object_size_mb=5000, ephemeral_storage_mb=512)],
    ),
    "storage classes": (
        of_express,
        [express(operation, kind) for operation in ("upload", "download") for kind in ("standard", "express")],
    ),
    "a query": (of_express, [express("count", object_bytes=2**20, object_count=20_000)]),
    "a bucket of its zone": (
        of_express,
        [express(zone_id="use1-az5", express_bucket_name=f"{'a' * 47}--use1-az5--x-s3")],
    ),
    "requests to a directory bucket": (of_express, [express("upload", "express", **BUSY)]),
    "what just fits into /tmp": (
        of_express,
        [express(**LARGE_SET, parallel_limit=64, ephemeral_storage_mb=6168)],
    ),
    "what an upload holds": (of_express, [express("upload", **LARGE_SET, parallel_limit=128)]),
    "files": (of_filesystem, [FILES, FILES | {"storage": "efs"}]),
}
WRONG = [
    (of_functions, function(concurrency_value=2), "mode", PROBLEM, "use --set from_manifest=true"),
    (of_functions, function(parallel_limit=1001), "connections", WARNING, "1,024 file descriptors"),
    (of_functions, slices(date_to="2014-12-31"), "key plan", PROBLEM, "swap them"),
    (of_hosts, host(object_count=219_121), "key plan", PROBLEM, "objects_per_folder = 6"),
    (of_hosts, host(parallel_limit=2000), "rate", WARNING, "14,440 calls/s on AWS; S3 takes 3,500 per prefix, so"),
    (of_hosts, host(bucket_key=False), "KMS", WARNING, "KMS requests/s"),
    (download_checks.checks, download(method="crt", sink="discard"), "method", PROBLEM, "use --set sink=tmp"),
    (download_checks.checks, download(method="crt", memory_size=256), "method", WARNING, "memory_size=512 or more"),
    (
        download_checks.checks,
        download(method="ranges", sink="memory", memory_size=1024),
        "object and memory",
        PROBLEM,
        "use --set memory_size=1152 or more, or --set sink=discard or tmp",
    ),
    (
        download_checks.checks,
        download(object_size_mb=1024, ephemeral_storage_mb=1087),
        "object and /tmp",
        PROBLEM,
        "use --set ephemeral_storage_mb=1088",
    ),
    (
        download_checks.checks,
        download(object_size_mb=20_000, ephemeral_storage_mb=10_240),
        "object and /tmp",
        PROBLEM,
        "use --set object_size_mb=... from 1 to 10176",
    ),
    (
        download_checks.checks,
        download(**OWN, object_size_mb=20_000, ephemeral_storage_mb=10_240),
        "object and /tmp",
        PROBLEM,
        "use --set method=stream, which keeps nothing",
    ),
    (download_checks.checks, download(existing_bucket=True), "object and bucket", PROBLEM, "which says both"),
    (download_checks.checks, download(requester_pays=True), "object and bucket", PROBLEM, "--set object=s3://"),
    (download_checks.checks, download(**OWN, server_side_proof=True), "object and bucket", PROBLEM, "leave it out"),
    (of_express, express(region="eu-central-1"), "zone", PROBLEM, "isn't available in eu-central-1"),
    (of_express, express(zone_id="use1-az1"), "zone", PROBLEM, "use1-az4, use1-az5, use1-az6"),
    (of_express, express(express_bucket_name="mine--use1-az5--x-s3"), "zone", PROBLEM, "--use1-az4--x-s3"),
    (of_express, express(object_count=5, slices=6), "slices", PROBLEM, "use --set slices=5 or less"),
    (
        of_express,
        express(**LARGE_SET, parallel_limit=64, ephemeral_storage_mb=6167),
        "/tmp",
        PROBLEM,
        "use --set ephemeral_storage_mb=6168, or",
    ),
    (of_express, express(**LARGE_SET, parallel_limit=128), "/tmp", PROBLEM, "; use a smaller parallel_limit"),
    (of_express, express("upload", **BUSY), "rate", WARNING, "reach about 4,256 requests/s; S3 Standard takes 3,500"),
    (
        of_express,
        express("count", object_bytes=2**20, object_count=20_001),
        "scan limit",
        PROBLEM,
        "20,001 MiB, but scan_limit_mb is 20,000; use --set scan_limit_mb=20001",
    ),
    (
        of_express,
        express("count", object_count=700_000, query_limit_s=60),
        "query limit",
        WARNING,
        "--set query_limit_s=152",
    ),
    (of_filesystem, FILES | {"storage": "s3files"}, "storage", PROBLEM, "--set with_s3files=true"),
    (
        of_filesystem,
        FILES | {"dataset": "large", "ephemeral_storage_mb": 512},
        "data set and /tmp",
        PROBLEM,
        "use --set ephemeral_storage_mb=1088",
    ),
]


@pytest.mark.parametrize("name", FINE)
def test_what_can_work_is_ok(name):
    checks, cells = FINE[name]
    assert wrong(checks(cells)) == {}


@pytest.mark.parametrize(("checks", "cell", "check", "status", "words"), WRONG)
def test_what_can_not_work_is_said_with_the_way_out(checks, cell, check, status, words):
    [(name, (found_status, sentence))] = wrong(checks([cell])).items()
    assert (name, found_status, words in sentence) == (check, status, True)


@pytest.mark.parametrize(
    ("checks", "cells", "words"),
    [
        (of_express, [express(), express(zone_id="use1-az6")], "2 values of zone_id"),
        (of_express, [express(), express(express_bucket_name="own--use1-az4--x-s3")], "2 values of express_bucket"),
        (
            download_checks.checks,
            [download(**OWN), download(**OWN, s3_file_name="k")],
            "a sweep reads one object of your own",
        ),
        (of_filesystem, [FILES, FILES | {"throughput_mode": "bursting"}], "EFS changes it once in 24 hours"),
    ],
)
def test_what_no_sweep_may_change_between_its_cells_is_a_problem(checks, cells, words):
    [(status, sentence)] = wrong(checks(cells)).values()
    assert status == PROBLEM and words in sentence


# What has to be built


@pytest.mark.parametrize(
    ("instance_type", "architecture"), [("m5a.8xlarge", "x86_64"), ("m7g.4xlarge", "arm64"), ("c6gn.large", "arm64")]
)
def test_a_program_that_is_not_built_for_its_processor_is_a_problem(monkeypatch, tmp_path, instance_type, architecture):
    monkeypatch.undo()
    monkeypatch.setattr(go_program, "ROOT", tmp_path)
    cells = [host(instance_type=instance_type)]
    path = f"functions/transfer/build/{architecture}/bootstrap"
    assert wrong(of_hosts(cells)) == {"program": (PROBLEM, f"{path} isn't built; run `make functions`")}
    (tmp_path / path).parent.mkdir(parents=True)
    for built_for, machine in (("x86_64", 0x3E), ("arm64", 0xB7)):
        (tmp_path / path).write_bytes(b"\x7fELF" + bytes(14) + bytes([machine, 0]))
        assert bool(wrong(of_hosts(cells))) is (built_for != architecture)


@pytest.mark.parametrize(
    ("method", "architecture", "needed"),
    [
        ("crt", "arm64", "functions/download/build/arm64/python/awscrt/__init__.py"),
        ("go_stream", "x86_64", "functions/transfer/build/x86_64/bootstrap"),
    ],
)
def test_a_method_that_is_not_built_is_a_problem(monkeypatch, tmp_path, method, architecture, needed):
    monkeypatch.undo()
    monkeypatch.setattr(download_checks, "ROOT", tmp_path)
    unbuilt = [download(method=method, architecture=architecture)]
    _, sentence = wrong(download_checks.checks(unbuilt))["method"]
    assert needed in sentence and sentence.endswith("run `make functions`")
    (tmp_path / needed).parent.mkdir(parents=True)
    (tmp_path / needed).write_text("built")
    assert wrong(download_checks.checks(unbuilt)) == {}


def test_methods_and_sinks_are_those_of_infra_and_of_the_function():
    assert download_usage.PROCESS_MB.keys() == download_checks.SINKS.keys()
    for method, sinks in METHODS.items():
        assert set(download_checks.SINKS[method]) == set(sinks)
        assert default_sink(method) == sinks[0]
    assert [default_sink(method) for method in ("go_stream", "go_ranges")] == ["discard", "memory"]
