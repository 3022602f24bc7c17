"""Checks of how a plan downloads: what can't work is refused before anything is applied."""

import pytest

from download.methods import METHODS
from experiments import EXPERIMENTS
from experiments.download import checks as download_checks
from experiments.download import usage as download_usage
from experiments.download.declaration import default_sink
from stampede.cli.verbs import doctor
from stampede.errors import UsageError
from stampede.finding import OK, PROBLEM, WARNING
from stampede.planning import checks
from stampede.planning.plan import complete, make_plan
from stampede.stacks.infra_variables import infra_defaults

BUILDS = [
    ("crt", "x86_64", "functions/download/build/x86_64/python/awscrt/__init__.py"),
    ("crt", "arm64", "functions/download/build/arm64/python/awscrt/__init__.py"),
    ("go_stream", "x86_64", "functions/transfer/build/x86_64/bootstrap"),
    ("go_ranges", "arm64", "functions/transfer/build/arm64/bootstrap"),
]


def cell(**values):
    """The variables of a cell: infra's defaults but for `values`."""
    return complete(EXPERIMENTS["download"], infra_defaults({}) | values)


def plan(*settings, target="local"):
    return make_plan(EXPERIMENTS["download"], target, settings, messages_per_concurrency=1)


@pytest.mark.parametrize(("method", "architecture", "needed"), BUILDS)
def test_a_method_that_is_not_built_is_a_problem_that_make_functions_solves(
    monkeypatch, tmp_path, method, architecture, needed
):
    monkeypatch.setattr(download_checks, "ROOT", tmp_path)
    unbuilt = cell(method=method, architecture=architecture)
    finding = download_checks.method([unbuilt])
    assert (finding.status, finding.way_out) == (PROBLEM, "run `make functions`")
    assert finding.found == f"method {method} on {architecture} needs {needed}, which isn't built"
    (tmp_path / needed).parent.mkdir(parents=True)
    (tmp_path / needed).write_text("built")
    assert download_checks.method([unbuilt]).status == OK


@pytest.mark.parametrize("method", ["download_file", "stream", "ranges"])
def test_the_other_methods_need_no_build(monkeypatch, tmp_path, method):
    monkeypatch.setattr(download_checks, "ROOT", tmp_path)
    assert download_checks.method([cell(method=method)]).status == OK


def test_the_sweep_is_refused_in_one_line_before_anything_is_applied(monkeypatch, tmp_path):
    refused = plan("method=stream,crt", "concurrency_value=1")
    monkeypatch.setattr(download_checks, "ROOT", tmp_path)  # a tree where nothing is built
    with pytest.raises(UsageError) as caught:
        doctor.refuse_if_impossible(refused)
    assert str(caught.value).startswith("method: method crt on x86_64 needs functions/download/build/x86_64/")
    assert str(caught.value).endswith("run `make functions`")


@pytest.mark.parametrize("method", ["download_file", "crt"])
def test_a_method_that_writes_a_file_cannot_discard(method):
    finding = download_checks.method([cell(method=method, sink="discard")])
    assert (finding.status, finding.way_out) == (PROBLEM, "use --set sink=tmp, or leave it out")


def test_crt_in_a_small_function_is_a_warning(monkeypatch):
    monkeypatch.setattr(download_checks, "BUILT", {})
    assert download_checks.method([cell(method="crt", memory_size=512)]).status == OK
    finding = download_checks.method([cell(method="crt", memory_size=256)])
    assert (finding.status, finding.way_out) == (WARNING, "use --set memory_size=512 or more")


def test_an_object_kept_in_too_little_memory_is_a_problem_with_the_value_that_would_do():
    finding = download_checks.object_memory([cell(method="ranges", sink="memory", memory_size=1024)])
    assert (finding.status, finding.way_out) == (
        PROBLEM,
        "use --set memory_size=1152 or more, or --set sink=discard or tmp",
    )
    assert download_checks.object_memory([cell(method="ranges", sink="memory", memory_size=1152)]).status == OK
    assert download_checks.object_memory([cell(method="ranges", sink="discard", memory_size=128)]).status == OK


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        (["method=stream"], "stream to discard"),
        (["method=download_file,stream,ranges"], "download_file to tmp, ranges to tmp, stream to tmp"),
        (["method=stream,ranges", "sink=discard"], "ranges to discard, stream to discard"),
        (["method=stream,ranges", "sink=null"], "ranges to memory, stream to discard"),
        (["method=download_file,stream", "sink=memory"], "method download_file doesn't support sink 'memory'"),
    ],
)
def test_methods_that_are_compared_have_the_same_sink_unless_it_is_set(settings, found):
    findings = checks.run(plan(*settings), [checks.PLAN])
    assert found in [finding.found for finding in findings]


def test_only_a_file_needs_room_in_tmp():
    assert download_checks.temporary_storage([cell(object_size_mb=5000, ephemeral_storage_mb=512)]).status == PROBLEM
    assert (
        download_checks.temporary_storage([cell(object_size_mb=5000, ephemeral_storage_mb=512, sink="discard")]).status
        == OK
    )


@pytest.mark.parametrize(
    ("object_mb", "tmp_mb", "way_out"),
    [
        (1024, 1087, "use --set ephemeral_storage_mb=1088"),
        (20_000, 10_240, "use --set object_size_mb=... from 1 to 10176"),
    ],
)
def test_an_object_that_does_not_fit_into_tmp_is_a_problem_with_the_value_that_would_do(object_mb, tmp_mb, way_out):
    finding = download_checks.temporary_storage([cell(object_size_mb=object_mb, ephemeral_storage_mb=tmp_mb)])
    assert (finding.status, finding.way_out) == (PROBLEM, way_out)


def test_an_object_that_just_fits_into_tmp_is_ok():
    assert download_checks.temporary_storage([cell(object_size_mb=1024, ephemeral_storage_mb=1088)]).status == OK


def test_every_method_has_its_memory():
    assert download_usage.PROCESS_MB.keys() == download_checks.SINKS.keys()


def test_methods_and_sinks_are_those_of_infra_and_of_the_function():
    assert list(download_checks.SINKS) == ["download_file", "stream", "ranges", "crt", "go_stream", "go_ranges"]
    for method, sinks in METHODS.items():
        assert set(download_checks.SINKS[method]) == set(sinks)
        assert default_sink(method) == sinks[0]
    # With Go, too.
    assert [default_sink(method) for method in ("go_stream", "go_ranges")] == ["discard", "memory"]
