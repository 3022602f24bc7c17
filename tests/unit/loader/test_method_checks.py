"""Checks of how a plan downloads: a method that needs a build is refused before anything is applied."""

import re

import pytest

from download.methods import METHODS
from experiments import EXPERIMENTS
from loader import checks
from loader.checks import method as checks_method
from loader.checks import plan as checks_plan
from loader.checks.finding import OK, PROBLEM, WARNING
from loader.cost.demand import Demand
from loader.errors import UsageError
from loader.infra_variables import INFRA
from loader.run.plan import make_plan
from loader.verbs import doctor
from report import ways

BUILDS = [
    ("crt", "x86_64", "functions/download/build/x86_64/python/awscrt/__init__.py"),
    ("crt", "arm64", "functions/download/build/arm64/python/awscrt/__init__.py"),
    ("go_stream", "x86_64", "functions/transfer/build/x86_64/bootstrap"),
    ("go_ranges", "arm64", "functions/transfer/build/arm64/bootstrap"),
]


def cell(**values):
    numbers = {"memory_mb": 2048, "concurrency": 10, "messages": 100, "warm_up_messages": 0, "object_mb": 1024}
    return Demand(name="cell", **(numbers | {"ephemeral_mb": 1200, "timeout_s": 60} | values))


def plan(*settings, target="local"):
    return make_plan(EXPERIMENTS["download"], target, settings, messages_per_concurrency=1)


@pytest.mark.parametrize(("method", "architecture", "needed"), BUILDS)
def test_a_method_that_is_not_built_is_a_problem_that_make_functions_solves(
    monkeypatch, tmp_path, method, architecture, needed
):
    monkeypatch.setattr(checks_method, "ROOT", tmp_path)
    one = cell(method=method, architecture=architecture, sink=ways.default_sink(method))
    found = checks_method.method([one])
    assert (found.status, found.way_out) == (PROBLEM, "run `make functions`")
    assert found.found == f"method {method} on {architecture} needs {needed}, which isn't built"
    (tmp_path / needed).parent.mkdir(parents=True)
    (tmp_path / needed).write_text("built")
    assert checks_method.method([one]).status == OK


@pytest.mark.parametrize("method", ["download_file", "stream", "ranges"])
def test_the_other_methods_need_no_build(monkeypatch, tmp_path, method):
    monkeypatch.setattr(checks_method, "ROOT", tmp_path)
    assert checks_method.method([cell(method=method, sink=ways.default_sink(method))]).status == OK


def test_the_sweep_is_refused_in_one_line_before_anything_is_applied(monkeypatch, tmp_path):
    refused = plan("method=stream,crt", "concurrency_value=1")
    monkeypatch.setattr(checks_method, "ROOT", tmp_path)  # a tree where nothing is built
    with pytest.raises(UsageError) as caught:
        doctor.refuse_if_impossible(refused)
    assert str(caught.value).startswith("method: method crt on x86_64 needs functions/download/build/x86_64/")
    assert str(caught.value).endswith("run `make functions`")


def test_a_method_that_there_is_not_is_a_problem_that_names_those_that_there_are():
    [found] = [one for one in checks.run(plan("method=strem"), [checks.PLAN]) if one.status == PROBLEM]
    assert found.found == "unknown method 'strem'"
    assert found.way_out.endswith("download_file, crt, stream, ranges, go_stream, go_ranges")


@pytest.mark.parametrize("method", ["download_file", "crt"])
def test_a_method_that_writes_a_file_cannot_discard(method):
    found = checks_method.method([cell(method=method, sink="discard")])
    assert (found.status, found.way_out) == (PROBLEM, "use --set sink=tmp, or leave it out")


def test_crt_in_a_small_function_is_a_warning(monkeypatch):
    monkeypatch.setattr(checks_method, "BUILT", {})
    assert checks_method.method([cell(method="crt", memory_mb=512)]).status == OK
    found = checks_method.method([cell(method="crt", memory_mb=256)])
    assert (found.status, found.way_out) == (WARNING, "use --set memory_size=512 or more")


def test_an_object_kept_in_too_little_memory_is_a_problem_with_the_value_that_would_do():
    found = checks_method.object_memory([cell(method="ranges", sink="memory", memory_mb=1024)])
    assert (found.status, found.way_out) == (
        PROBLEM,
        "use --set memory_size=1152 or more, or --set sink=discard or tmp",
    )
    assert checks_method.object_memory([cell(method="ranges", sink="memory", memory_mb=1152)]).status == OK
    assert checks_method.object_memory([cell(method="ranges", sink="discard", memory_mb=128)]).status == OK


def test_the_plan_knows_where_each_method_puts_the_bytes():
    found = checks.run(plan("method=download_file,stream,ranges"), [checks.PLAN])
    [told] = [one for one in found if one.check == "method"]
    assert told.found == "download_file to tmp, ranges to memory, stream to discard"


def test_only_a_file_needs_room_in_tmp():
    assert checks_plan.temporary_storage([cell(object_mb=5000, ephemeral_mb=512)]).status == PROBLEM
    assert checks_plan.temporary_storage([cell(object_mb=5000, ephemeral_mb=512, sink="discard")]).status == OK


def test_methods_and_sinks_are_those_of_infra_and_of_the_function():
    variables = (INFRA / "variables_download.tf").read_text()
    known, *_ = re.findall(r"contains\((\[[^\]]+\]), var\.method\)", variables)
    assert re.findall(r'"(\w+)"', known) == ["download_file", "stream", "ranges", "crt", "go_stream", "go_ranges"]
    assert set(checks_method.SINKS) == set(re.findall(r'"(\w+)"', known))
    for method, sinks in METHODS.items():
        assert set(checks_method.SINKS[method]) == set(sinks)
        assert ways.default_sink(method) == sinks[0]
    # With Go, too.
    assert [ways.default_sink(method) for method in ("go_stream", "go_ranges")] == ["discard", "memory"]
