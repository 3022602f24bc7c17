"""What holds for every experiment, whatever it measures: a wrong declaration fails here, not in a
run."""

import json
import re
from dataclasses import fields

import pytest

from experiments import EXPERIMENTS
from experiments.copy.key_plan import KeyPlan
from stampede.checkout import ROOT
from stampede.cli.command_line import main
from stampede.finding import BUILD, PROBLEM
from stampede.model.prediction import Prediction
from stampede.planning import checks, cost
from stampede.planning.cost.prices import read_prices
from stampede.planning.plan import make_plan
from stampede.planning.predicting import Question, foresee
from stampede.report.published import every_cell
from stampede.stacks.infra_variables import infra_defaults
from stampede.variable_rules import RULES
from tests.contract.synthetic import RECORD

# Keys that the loader adds to every work order.
RESERVED = {"run_id", "cell", "seq", "start_at_ms", "round", "warm_up"}
# A prediction for a cell, made by hand.
AT_HALF = Prediction(
    count=5000,
    min_s=9.0,
    p25_s=12.0,
    avg_s=12.8,
    p75_s=13.0,
    max_s=14.4,
    p99_s=14.2,
    time_to_n_s=99.2,
    share_at_n=0.5,
    most_at_once=500,
    span_s=190.0,
    drain_s=191.0,
    peak_requests_per_s=4900.0,
    requests_limit_per_s=5500.0,
    failed=0,
    dead_lettered=0,
    throttled=0,
    bottleneck="the trigger's ramp",
)
KEY_PLAN = {"objects": "object_count", "seed": "data_seed"}


@pytest.fixture(params=EXPERIMENTS)
def experiment(request):
    return EXPERIMENTS[request.param]


@pytest.fixture(params=["aws", "local"])
def plan(experiment, request):
    """The default plan."""
    return make_plan(
        experiment, request.param, (), messages_per_concurrency=experiment.messages_per_concurrency
    )


@pytest.fixture
def cells(plan):
    return plan.cells


def outputs():
    """The names of infra's outputs."""
    texts = [file.read_text() for file in (ROOT / "infra").glob("outputs*.tf")]
    return set(re.findall(r'(?m)^output "(\w+)"', "".join(texts)))


def as_outputs(values):
    """The outputs of a stack with these variables; others are texts, except for the key plan."""
    names = {field.name: KEY_PLAN.get(field.name, field.name) for field in fields(KeyPlan)}
    key_plan = {name: values[variable] for name, variable in names.items() if variable in values}
    return {name: values.get(name, f"the_{name}/") for name in outputs()} | {"key_plan": key_plan}


def test_its_declaration_names_nothing_that_is_not_there(experiment):
    """Only names that a default sweep's plan, work orders and report don't use."""
    axes = experiment.axes
    of_stack = {axis.variable for axis in axes if axis.variable and not axis.in_order}
    filled = {experiment.seeding.function} if experiment.seeding else set()
    assert filled.union(of_stack, experiment.emptied_before_destroy) <= outputs()
    controlled = experiment.controlled
    assert of_stack.union(controlled, *controlled.values()) <= RULES.keys()
    compared = {axis for compare in experiment.compare for axis in compare.axes}
    assert compared <= {axis.name for axis in axes}
    kinds = (experiment.name, f"{experiment.name}_query")
    times = {field for kind, field in RECORD["time"].items() if kind in kinds}
    assert times == {experiment.time_field}
    tables_of_cells = {cell.published.file for cell in every_cell(experiment)}
    assert tables_of_cells == {table.file for table in experiment.published}


def test_its_default_matrix_obeys_its_own_rules_and_lambdas(plan):
    problems = [
        finding
        for finding in checks.of_plan(plan, cost.estimate(plan))
        if finding.status == PROBLEM
    ]
    # A program that isn't built on this machine says nothing about the plan.
    assert [finding.sentence for finding in problems if finding.way_out != BUILD] == []


def test_its_dry_run_prints_every_cell_the_duration_and_the_cost(plan, capsys, monkeypatch):
    # the next test asks the model
    monkeypatch.setattr(Question, "predict", lambda *_: AT_HALF)
    command = ["sweep", plan.experiment, "--target", plan.target, "--dry-run", "--format", "json"]
    assert main(command) == 0
    printed = capsys.readouterr()
    rows = {row["cell"]: row for row in json.loads(printed.out)}
    assert rows.keys() == {cell.name for cell in plan.cells}
    assert {row["share_at_n"] for row in rows.values()} == {0.5 if plan.target == "aws" else None}
    assert "duration: about" in printed.err and "USD" in printed.err


def test_it_takes_a_number_of_messages_or_says_why_not(experiment, capsys):
    command = ["sweep", experiment.name, "--messages-per-concurrency", "4", "--dry-run"]
    assert main(command) in (0, 2)
    assert "Traceback" not in capsys.readouterr().err


def test_its_bill_has_a_price_for_every_line_and_a_total(plan):
    estimate = cost.estimate(plan)
    assert min(estimate.total_usd, estimate.total_s) > 0 and estimate.unpriced == []
    assert all(item.quantity >= 0 for item in estimate.items)


def test_its_model_foresees_every_cell_of_its_default_matrix(plan):
    cells = foresee(plan)
    for cell in cells:
        assert cell.question and 0 < cell.longest_s <= cell.floods_s, cell.name
        assert cell.longest_s / 10 < cell.working_s / cell.operations <= cell.longest_s
    answer = cells[0].question.predict()
    assert (
        answer.bottleneck
        and answer.min_s <= answer.avg_s <= answer.max_s
        and "avg_s" in answer.ranges
    )


def test_a_cells_usage_has_prices_and_fits_its_objects(experiment, cells):
    sizes = infra_defaults({}).keys() | experiment.order_axes.keys()
    for cell in cells:
        usage = experiment.usage(cell.values)
        assert {
            use.price for use in usage.uses
        } <= read_prices().by_name.keys() and usage.sized_by in sizes
        assert usage.moved_mb >= 0 and usage.process_mb > 0 and usage.tmp_mb >= 512
        objects = experiment.objects(as_outputs(cell.values))
        put = [item.size_bytes for item in objects if not item.copy_of]
        assert min(put, default=0) >= 0 and sum(put) <= usage.data_mb * 2**20
        keys = [item.key for item in objects]
        assert all(keys) and len(set(keys)) == len(keys)
        assert all(item.copy_of in keys[:at] for at, item in enumerate(objects) if item.copy_of)


def test_its_work_orders_are_json_that_says_every_axis_of_the_order(experiment, cells):
    for cell in cells:
        stack, own = as_outputs(cell.values), cell.in_order()
        order = experiment.order({**stack, **own}, experiment.objects(stack))
        assert json.loads(json.dumps(order)) == order and not order.keys() & RESERVED
        # A 0 stands for none, and is left out.
        assert {name: value for name, value in own.items() if value != 0}.items() <= order.items()
        assert own.keys() == experiment.order_axes.keys()


@pytest.mark.parametrize(
    "experiment", [each for each in EXPERIMENTS if EXPERIMENTS[each].shared_list], indirect=True
)
def test_the_messages_of_a_flood_name_every_slice_once(experiment, cells):
    for cell in cells:
        stack = as_outputs({**cell.values, "from_manifest": True, "slice_rows": 400})
        values = {**stack, **cell.values, "from_manifest": True}
        planned = experiment.shared_list.manifest(stack)
        messages = [experiment.of_message(values, at) for at in range(experiment.messages(stack))]
        slices = [
            message["first_slice"] + at for message in messages for at in range(message["slices"])
        ]
        assert slices == list(range(planned.slice_count))
        assert experiment.preparation(stack) == {"empty_first": 1, "first_slice": 0, "slices": 0}
        order = experiment.order(values, ())
        assert order["manifest"] == planned.manifest and not order.keys() & messages[0].keys()


def test_where_nothing_names_slices_a_function_empties_the_destination_itself():
    copying = EXPERIMENTS["copy"]
    order = {"parallel_limit": 7, "retry_mode": "standard", "retry_attempts": 4, "pace": "fixed"}
    values = order | {"from_manifest": False, "calls_per_s": 0}
    assert copying.order(values, ()) == order | {"empty_first": 1}
    assert copying.order(values | {"calls_per_s": 80}, ())["calls_per_s"] == 80
    assert copying.of_message(values, 3) == {}
    assert (
        copying.preparation(values)
        is copying.shared_list.manifest(values)
        is copying.messages(values)
        is None
    )
