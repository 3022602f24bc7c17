"""The plan of a sweep is decided by its options alone."""

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
from stampede.planning.plan import Plan, make_plan
from stampede.stacks.infra_variables import infra_defaults
from stampede.variable_rules import RULES
from tests.unit.loader.reads_experiment import MATRIX, READS

DOWNLOAD = EXPERIMENTS["download"]


def plan(*settings, target="aws", **options):
    return make_plan(DOWNLOAD, target, settings, **({"messages_per_concurrency": 10} | options))


@given(seed=st.integers(0, 10**6), repeats=st.integers(1, 3))
def test_without_axes_of_the_work_order_the_cells_are_shuffled_one_by_one_as_ever(seed, repeats):
    names = [
        f"memory_size={memory},concurrency_value={n}" + (f",repeat={repeat}" if repeats > 1 else "")
        for repeat in range(1, repeats + 1)
        for memory in (1024, 2048)
        for n in (1, 5, 10, 50, 100, 500)
    ]
    random.Random(seed).shuffle(names)
    assert [cell.name for cell in plan(seed=seed, repeats=repeats).cells] == names


def as_stored(sweep_plan):
    """The plan as a run.json has it, read again."""
    cells = [cell.as_json() for cell in sweep_plan.cells]
    stored = {"experiment": sweep_plan.experiment, "plan": sweep_plan.as_dict(), "cells": cells}
    return Plan.from_run(json.loads(json.dumps(stored)))


def test_a_stored_plan_comes_back_as_it_was():
    sweep_plan = plan("memory_size=512,1024", repeats=2, seed=7, start_barrier_s=5.0, warm_up_per_concurrency=1)
    stored = as_stored(sweep_plan)
    assert stored == sweep_plan
    assert [vars(cell) for cell in stored.cells] == [vars(cell) for cell in sweep_plan.cells]


def test_a_stored_key_of_the_work_order_that_is_of_another_kind_is_damage():
    stored = make_plan(EXPERIMENTS["express"], "local", [], messages_per_concurrency=1)
    changed = replace(stored.cells[0], values={**stored.cells[0].values, "parallel_limit": ["x"]})
    with pytest.raises(ValueError, match=r"parallel_limit: must be a whole number .*, got \['x'\]"):
        as_stored(replace(stored, cells=(changed,)))


def test_a_cell_is_complete_and_sets_what_terraform_would_set_otherwise():
    sweep_plan = plan("memory_size=512", "concurrency_value=1")
    [cell] = sweep_plan.cells
    assert (cell.values["timeout_s"], cell.values["sink"], cell.values["prefix"]) == (60, "tmp", "stampede")
    wanted = sweep_plan.variables(cell, infra_defaults({}))
    assert wanted["concurrency_value"] == 1
    assert wanted["timeout_s"] == 60  # what null means is set, and a default isn't repeated
    assert "prefix" not in wanted
    assert sweep_plan.variables(cell, infra_defaults({"TF_VAR_prefix": "mine"}))["prefix"] == "stampede"


def test_what_is_controlled_is_set_in_every_cell_and_where_it_is_set_already_it_stays():
    compared = plan("method=stream,ranges")
    assert "sink" in compared.fixed
    assert {compared.variables(cell, infra_defaults({}))["sink"] for cell in compared.cells} == {"tmp"}
    swept = plan("method=stream,ranges", "sink=memory,discard")
    assert "sink" not in swept.fixed
    assert {cell["sink"] for cell in swept.cells} == {"memory", "discard"}
    fixed = plan("method=stream,ranges", "sink=discard")
    assert {cell["sink"] for cell in fixed.cells} == {"discard"}
    by_terraform = plan("method=stream,ranges", defaults=infra_defaults({"TF_VAR_sink": "discard"}))
    assert {cell["sink"] for cell in by_terraform.cells} == {"discard"}


def test_no_variable_of_a_cell_breaks_a_rule_of_terraforms():
    """What only null stands for, and what hosts don't read, are no values for Terraform."""
    for experiment, target in itertools.product(EXPERIMENTS.values(), ("local", "aws")):
        sweep_plan = make_plan(experiment, target, [], infra_defaults({}), messages_per_concurrency=10)
        for cell in sweep_plan.cells:
            wanted = sweep_plan.variables(cell, infra_defaults({}))
            choices = {name: (*RULES[name].choices, None) for name in wanted if name in RULES and RULES[name].choices}
            assert {name: wanted[name] for name in choices if wanted[name] not in choices[name]} == {}
            assert wanted.keys().isdisjoint(experiment.unused)


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("memory=1024", "infra/ has no variable 'memory'; did you mean memory_size?"),
        ("memory_size", "isn't of the form VARIABLE=VALUE"),
        ('experiment_tag=1,"1"', "a value is given twice"),
        ("provisioned_pollers={minimum=9,maximum=9},9", "a value is given twice"),
        ("provisioned_pollers={minimum=2,maximum=9", "write a text with commas"),
        ("concurrency_value=ten", "--set concurrency_value: must be a whole number from 1 to 100000, got 'ten'"),
        ("object_size_mb=1,000", "got '000'"),
        ("memory_size=2.5", "--set memory_size: must be a whole number of MB from 128 to 10240, got 2.5"),
        ("provisioned_pollers=many", "must be an object of two whole numbers, such as {minimum=2,maximum=20}, got"),
        ("provisioned_pollers={minimum=1,maximum=9}", "minimum must be a whole number from 2 to 200, got 1"),
        ("provisioned_pollers=201", "minimum must be a whole number from 2 to 200, got 201"),
        ("visibility_timeout_s=60", "visibility_timeout_s: must be at least 6 x timeout_s = 360, got 60"),
        ("object_count=3", "--set object_count: download doesn't use it"),
        ("experiment=copy", "the experiment isn't a setting of its own plan; give it as EXPERIMENT"),
        ("concurrency_value=" + ",".join(map(str, range(1, 600))), "has 1198 cells, and at most 1000"),
    ],
)
def test_a_wrong_setting_is_refused_with_the_fix(setting, words):
    with pytest.raises(UsageError) as refusal:
        plan(setting)
    assert words in str(refusal.value)


def test_messages_and_warm_ups_fill_the_batches_of_n_functions_and_those_of_others_none():
    settings = ["memory_size=1024", "concurrency_value=4", "batch_size=1,25", "batching_window_s=2"]
    counts = {"messages_per_concurrency": 3, "warm_up_per_concurrency": 2}
    cells = sorted(make_plan(EXPERIMENTS["function"], "aws", settings, **counts).cells)
    assert [(cell.messages, cell.warm_up_messages) for cell in cells] == [(12, 8), (300, 200)]
    assert {(cell.invocations, cell.warm_up_invocations) for cell in cells} == {(12, 8)}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (["batch_size=11"], "batch_size = 11: needs batching_window_s of at least 1 above 10; add --set"),
        (["batch_size=11", "batching_window_s=0,1"], "batch_size = 11: needs"),
        (["batch_size=10001"], "from 1 to 10000, got 10001"),
        (["batching_window_s=301"], "from 0 to 300, got 301"),
        (
            ["batching_window_s=20", "visibility_timeout_s=199"],
            "must be at least 6 x timeout_s + batching_window_s = 200, got 199",
        ),
    ],
)
def test_batches_that_lambda_would_refuse_are_refused_in_the_words_of_infra(settings, words):
    with pytest.raises(UsageError) as refusal:
        make_plan(EXPERIMENTS["function"], "aws", settings, messages_per_concurrency=1)
    assert words in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("range_part_mb", 65, "range_part_mb: must be a whole number of MiB from 16 to 64, got 65; correct --set"),
        ("timeout_s", "soon", "timeout_s: must be a whole number of seconds from 1 to 900, got 'soon'; correct --set"),
        ("provisioned_pollers", {"minimum": 2}, "provisioned_pollers: must be an object of two whole numbers"),
        ("maximum_concurrency", 1, "*.tfvars file of infra/; for one function at a time, leave it out and set"),
    ],
)
def test_what_the_surroundings_of_infra_set_is_held_to_the_same_rules(name, value, words):
    with pytest.raises(UsageError) as refusal:
        plan(defaults=infra_defaults({}) | {name: value})
    assert words in str(refusal.value)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (["operation=uplaod"], "--set operation: must be one of: upload, download, count, aggregate, got 'up"),
        (["parallel_limit=0"], "--set parallel_limit: must be a whole number"),
        # What every cell that is left has pinned takes no other value.
        (["operation=count", "parallel_limit=1,8"], "--set parallel_limit: is always 1 in these cells; leave it out"),
    ],
)
def test_a_wrong_value_for_an_axis_is_refused_with_the_rule(settings, words):
    with pytest.raises(UsageError) as refusal:
        make_plan(EXPERIMENTS["express"], "aws", settings, messages_per_concurrency=1)
    assert words in str(refusal.value)


POLLERS = {"minimum": 2, "maximum": 20}


@pytest.mark.parametrize("pollers", ["{minimum=2,maximum=20}", '{"minimum": 2, "maximum": 20}'])
def test_null_and_an_object_in_hcl_or_json_are_values_and_quotes_hold_a_text_together(pollers):
    sweep_plan = plan(f"provisioned_pollers=null,{pollers}", 'experiment_tag="a, b",c', "sink=null")
    values = [(cell.values["provisioned_pollers"], cell.values["experiment_tag"]) for cell in sweep_plan.cells]
    assert all(value in values for value in itertools.product([None, POLLERS], ["a, b", "c"]))
    assert any("provisioned_pollers={minimum=2,maximum=20}" in cell.name for cell in sweep_plan.cells)


# Axes of the work order.


@pytest.fixture
def reads(monkeypatch):
    """A plan of an experiment with two of them."""
    monkeypatch.setitem(EXPERIMENTS, "reads", READS)
    return lambda *settings, **options: make_plan(READS, "aws", settings, messages_per_concurrency=1, **options)


@pytest.mark.parametrize("seed", range(5))
def test_cells_that_differ_only_in_their_work_orders_stay_together_in_a_shuffled_order(reads, seed):
    sweep_plan = reads("memory_size=512,1024,2048", seed=seed, repeats=2)
    stacks = [
        key
        for key, _ in itertools.groupby(
            sweep_plan.cells, lambda cell: (cell.repeat, json.dumps(sweep_plan.variables(cell, {})))
        )
    ]
    assert len(stacks) == 6
    assert len({cell.name for cell in sweep_plan.cells}) == 24


# Several products.

TEXTS, NUMBERS = ("large", "small"), (1, 30)
PRODUCTS = Matrix(
    swept={"dataset": TEXTS, "threads": (1,), "memory_size": (512, 1024), "concurrency_value": (10,)},
    fixed={},
    also=(
        {"threads": (30,), "memory_size": (512, 1024, 2048), "concurrency_value": (10,)},
        {"dataset": ("listing",), "threads": 1, "concurrency_value": 1},
    ),
    rest={
        "passes": lambda values: values["memory_size"] // 512,
        "experiment_tag": lambda values: values["dataset"],
    },
)
PASSES = Axis("passes", default=1, in_order=True)


@pytest.fixture
def several(monkeypatch):
    """A plan of a matrix of three products: one, one with more memories at 30 threads, one with another data set."""
    experiment = READS.with_(axes=(*READS.axes, PASSES), matrices={"aws": PRODUCTS, "local": MATRIX})
    monkeypatch.setitem(EXPERIMENTS, "reads", experiment)
    return lambda *settings, target="aws": make_plan(experiment, target, settings, messages_per_concurrency=1)


def combinations(plan):
    """Data set, threads, memory and N of its cells."""
    cell_values = [cell.values for cell in plan.cells]
    return {
        (values["dataset"], values["threads"], values["memory_size"], values["concurrency_value"])
        for values in cell_values
    }


FIRST = {(text, 1, memory, 10) for text in TEXTS for memory in (512, 1024)}
SECOND = {(text, 30, memory, 10) for text in TEXTS for memory in (512, 1024, 2048)}
THIRD = {("listing", 1, memory, 1) for memory in (512, 1024)}


def test_a_matrix_may_have_several_products_and_what_stands_in_two_is_one_cell(several):
    assert combinations(several()) == FIRST | SECOND | THIRD
    sweep_plan = several("threads=30")
    assert len(sweep_plan.cells) == len(combinations(sweep_plan)) == len(SECOND) + len(THIRD)


@pytest.mark.parametrize(
    ("setting", "wanted"),
    [
        ("dataset=listing", THIRD),
        ("dataset=small", {combination for combination in FIRST | SECOND if combination[0] == "small"}),
        ("dataset=small,listing", {combination for combination in FIRST | SECOND | THIRD if combination[0] != "large"}),
        ("dataset=new", {("new", 1, memory, 10) for memory in (512, 1024)}),
        ("memory_size=256", {(*combination[:2], 256, combination[3]) for combination in FIRST | SECOND | THIRD}),
        ("threads=7", {(combination[0], 7, *combination[2:]) for combination in FIRST | SECOND} | THIRD),
        ("concurrency_value=3", {(*combination[:3], 3) for combination in FIRST | SECOND} | THIRD),
    ],
)
def test_a_text_tells_products_apart_and_a_number_is_set_in_all_that_have_not_pinned_it(several, setting, wanted):
    sweep_plan = several(setting)
    assert combinations(sweep_plan) == wanted
    assert len(sweep_plan.cells) == len(wanted)


def test_what_nobody_set_is_filled_from_the_other_values_of_a_cell_and_names_no_cell(several):
    sweep_plan = several()
    for cell in sweep_plan.cells:
        values = cell.values
        assert (values["passes"], values["experiment_tag"]) == (values["memory_size"] // 512, values["dataset"])
        assert cell.in_order()["passes"] == values["passes"]
        assert sweep_plan.variables(cell, {})["experiment_tag"] == values["dataset"]
        assert "passes" not in cell.name
    set_by_user = several("passes=7")
    assert {cell.in_order()["passes"] for cell in set_by_user.cells} == {7}


def test_where_the_stack_stays_as_it_is_no_time_is_counted_for_an_apply(reads):
    shared = demands(reads())
    assert sum(demand.applies for demand in shared) == 2
    seconds = {demand.applies: durations.cell_s(demand, "aws") for demand in shared if demand.memory_mb == 1024}
    assert seconds[True] - seconds[False] == durations.SURROUNDINGS["aws"].apply_s
