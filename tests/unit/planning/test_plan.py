"""A sweep's plan depends only on its options."""

import itertools
import json
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments import EXPERIMENTS, Axis, Matrix
from stampede.errors import UsageError
from stampede.planning.cost import durations
from stampede.planning.demand import demands
from stampede.planning.plan import Plan, with_rounds
from stampede.stacks.infra_variables import infra_defaults
from tests.unit.loader.reads_experiment import MATRIX, READS
from tests.unit.plans import plan

DEFAULTS = infra_defaults({})


def of_cells(sweep_plan, name):
    return {cell.values[name] for cell in sweep_plan.cells}


@given(seed=st.integers(0, 10**6), repeats=st.integers(1, 3))
def test_without_axes_of_the_work_order_all_cells_and_repeats_are_shuffled(seed, repeats):
    names = [
        f"memory_size={memory},concurrency_value={n}" + (f",repeat={repeat}" if repeats > 1 else "")
        for repeat in range(1, repeats + 1)
        for memory in (1024, 2048)
        for n in (1, 5, 10, 50, 100, 500)
    ]
    random.Random(seed).shuffle(names)
    assert [cell.name for cell in plan(seed=seed, repeats=repeats).cells] == names


def as_stored(sweep_plan):
    """The plan, written to run.json and read back."""
    cells = [cell.as_json() for cell in sweep_plan.cells]
    stored = {"experiment": sweep_plan.experiment, "plan": sweep_plan.as_dict(), "cells": cells}
    return Plan.from_run(json.loads(json.dumps(stored)))


def test_a_stored_plan_is_read_back_unchanged_and_a_value_of_another_type_is_damage():
    sweep_plan = plan(
        "memory_size=512,1024", repeats=2, seed=7, start_barrier_s=5.0, warm_up_per_concurrency=1
    )
    stored = as_stored(sweep_plan)
    rounds = with_rounds(plan("concurrency_value=1", "reads", repeats=2))
    assert stored == sweep_plan and as_stored(rounds).blocks() == rounds.blocks()
    assert [vars(cell) for cell in stored.cells] == [vars(cell) for cell in sweep_plan.cells]
    express = plan(experiment="express", target="local")
    values = express.cells[0].values | {"parallel_limit": ["x"], "slices": None}
    changed = replace(express.cells[0], values=values)
    with pytest.raises(UsageError, match=r"parallel_limit: must be a whole number .*\['x'\]"):
        as_stored(replace(express, cells=(changed,)))


def test_a_cell_sets_only_values_that_differ_from_those_of_terraform():
    sweep_plan = plan("memory_size=512 concurrency_value=1")
    [cell] = sweep_plan.cells
    wanted = sweep_plan.variables(cell, DEFAULTS)
    # The meaning of null is set, and a default isn't repeated.
    assert (wanted["concurrency_value"], wanted["timeout_s"], "prefix" in wanted) == (1, 60, False)
    others = infra_defaults({"TF_VAR_prefix": "mine"})
    assert sweep_plan.variables(cell, others)["prefix"] == "stampede"


@pytest.mark.parametrize(
    ("more", "environment", "sinks"),
    [
        ("", {}, {"tmp"}),
        ("sink=memory,discard", {}, {"memory", "discard"}),
        ("", {"TF_VAR_sink": "discard"}, {"discard"}),
    ],
)
def test_a_controlled_value_is_added_to_every_cell_that_does_not_set_it(more, environment, sinks):
    compared = plan(f"method=stream,ranges {more}", defaults=infra_defaults(environment))
    assert of_cells(compared, "sink") == sinks
    assert {compared.variables(cell, DEFAULTS)["sink"] for cell in compared.cells} == sinks


def test_terraform_gets_no_values_that_null_stands_for_or_that_hosts_do_not_read():
    for experiment, settings in {"filesystem": "storage=efs", "copy_host": ""}.items():
        sweep_plan = plan(settings, experiment, defaults=DEFAULTS)
        for cell in sweep_plan.cells:
            wanted = sweep_plan.variables(cell, DEFAULTS)
            assert wanted.get("read_method") is None and wanted.keys().isdisjoint(
                EXPERIMENTS[experiment].unused
            )


@pytest.mark.parametrize(
    ("experiment", "settings", "words"),
    [
        ("download", "memory=1024", "did you mean memory_size?"),
        ("download", 'experiment_tag=1,"1"', "twice"),
        ("download", "provisioned_pollers={minimum=9,maximum=9},9", "twice"),
        ("download", "concurrency_value=ten", "--set concurrency_value: must be"),
        ("download", "object_size_mb=1,000", "got '000'"),
        ("download", "visibility_timeout_s=359", "6 x timeout_s = 360, got 359"),
        ("download", "object_count=3", "download has no such setting"),
        (
            "download",
            "concurrency_value=" + ",".join(map(str, range(1, 502))),
            "1002 cells, and at most 1000",
        ),
        ("function", "batch_size=11 batching_window_s=0,1", "batch_size = 11: needs"),
        (
            "function",
            "batching_window_s=20 visibility_timeout_s=199",
            "+ batching_window_s = 200, got 199",
        ),
        ("function", "package=/a/mine,/b/mine", "package=mine"),
        # A value that every remaining cell pins can't be set.
        ("express", "operation=count parallel_limit=1,8", "always 1"),
    ],
)
def test_a_wrong_setting_is_refused_with_the_fix(experiment, settings, words):
    with pytest.raises(UsageError) as refusal:
        plan(settings, experiment)
    assert words in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("range_part_mb", 65, "got 65; correct --set"),
        ("maximum_concurrency", 1, "*.tfvars file of infra/; for one function"),
    ],
)
def test_values_from_the_environment_and_files_obey_the_same_rules(name, value, words):
    with pytest.raises(UsageError, match=rf"^{name}: ") as refusal:
        plan(defaults=DEFAULTS | {name: value})
    assert words in str(refusal.value)


def test_messages_and_warm_ups_fill_the_batches_of_n_functions():
    settings = "memory_size=1024 concurrency_value=4 batch_size=1,25 batching_window_s=2"
    cells = plan(settings, "function", each=3, warm_up_per_concurrency=2).cells
    assert sorted((cell.messages, cell.warm_up_messages) for cell in cells) == [(12, 8), (300, 200)]
    assert {(cell.invocations, cell.warm_up_invocations) for cell in cells} == {(12, 8)}


def test_null_and_objects_are_values_and_quotes_keep_a_text_whole():
    cells = plan(
        'provisioned_pollers=null,{minimum=2,maximum=20} experiment_tag="a,b",c concurrency_value=1'
    ).cells
    seen = {
        (str(cell.values["provisioned_pollers"]), cell.values["experiment_tag"]) for cell in cells
    }
    assert seen == {*itertools.product(["None", "{'minimum': 2, 'maximum': 20}"], ["a,b", "c"])}


def test_a_plan_names_a_package_by_its_last_part_and_terraform_gets_its_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    here = plan("package=mine,./other memory_size=512 concurrency_value=1", "function", "local")
    named = {cell["package"]: here.variables(cell, {})["package"] for cell in here.cells}
    assert named == {name: str(tmp_path / name) for name in ("mine", "other")}


# Axes of the work order, and a matrix of three products: a plain one, one with more memory sizes at
# 30 threads, and one with another data set.

TEXTS = ("large", "small")
PRODUCTS = Matrix(
    swept={
        "dataset": TEXTS,
        "threads": (1,),
        "memory_size": (512, 1024),
        "concurrency_value": (10,),
    },
    fixed={},
    also=(
        {"threads": (30,), "memory_size": (512, 1024, 2048), "concurrency_value": (10,)},
        {"dataset": ("listing",), "threads": 1, "concurrency_value": 1},
    ),
    rest={
        "passes": lambda own: own["memory_size"] // 512,
        "experiment_tag": lambda own: own["dataset"],
    },
)
SEVERAL = READS.with_(
    axes=(*READS.axes, Axis("passes", default=1, in_order=True)),
    matrices={"aws": PRODUCTS, "local": MATRIX},
)


@pytest.fixture(autouse=True)
def experiments(monkeypatch):
    for name, experiment in {"reads": READS, "several": SEVERAL}.items():
        monkeypatch.setitem(EXPERIMENTS, name, experiment)


@pytest.mark.parametrize("seed", range(5))
def test_cells_that_differ_only_in_their_work_orders_stay_together_in_a_shuffled_order(seed):
    sweep_plan = plan("memory_size=512,1024,2048", "reads", seed=seed, repeats=2)
    stacks = [(cell.repeat, cell.values["memory_size"]) for cell in sweep_plan.cells]
    assert len([*itertools.groupby(stacks)]) == len({*stacks}) == 6
    assert len({cell.name for cell in sweep_plan.cells}) == 24


FIRST = {*itertools.product(TEXTS, [1], [512, 1024], [10])}
SECOND = {*itertools.product(TEXTS, [30], [512, 1024, 2048], [10])}
THIRD = {*itertools.product(["listing"], [1], [512, 1024], [1])}
ALL = FIRST | SECOND | THIRD


@pytest.mark.parametrize(
    ("setting", "wanted"),
    [
        ("", ALL),
        ("threads=30", SECOND | THIRD),
        ("dataset=listing", THIRD),
        (
            "dataset=small,listing",
            {combination for combination in ALL if combination[0] != "large"},
        ),
        ("memory_size=256", {(*combination[:2], 256, combination[3]) for combination in ALL}),
        (
            "threads=7",
            {(combination[0], 7, *combination[2:]) for combination in FIRST | SECOND} | THIRD,
        ),
    ],
)
def test_a_text_selects_products_and_a_number_is_set_in_all_that_do_not_pin_it(setting, wanted):
    names = ("dataset", "threads", "memory_size", "concurrency_value")
    combinations = [
        tuple(cell.values[name] for name in names) for cell in plan(setting, "several").cells
    ]
    assert sorted(combinations) == sorted(wanted)  # a cell of two products comes once


def test_an_unset_value_is_derived_from_the_others_and_is_no_part_of_the_cells_name():
    sweep_plan = plan(experiment="several")
    for cell in sweep_plan.cells:
        passes = cell.values["memory_size"] // 512
        assert (cell.values["passes"], cell.in_order()["passes"]) == (passes, passes)
        assert sweep_plan.variables(cell, {})["experiment_tag"] == cell.values["dataset"]
        assert "passes" not in cell.name
    assert of_cells(plan("passes=7", "several"), "passes") == {7}


def test_an_unchanged_stack_takes_no_time_for_an_apply():
    shared = [demand for demand in demands(plan(experiment="reads")) if demand.memory_mb == 1024]
    seconds = {demand.applies: durations.cell_s(demand, "aws") for demand in shared}
    assert [demand.applies for demand in shared] == [True, *[False] * 3]
    assert seconds[True] - seconds[False] == durations.SURROUNDINGS["aws"].apply_s
