"""What every experiment keeps to, whatever it measures. A declaration that is wrong is found here, not in a run."""

import json
import re
import sys
from dataclasses import fields, replace
from typing import get_args, get_origin, get_type_hints

import pytest

from experiments import EXPERIMENTS
from experiments.copy.key_plan import KeyPlan
from stampede.cli.command_line import main
from stampede.experiment import Compare, Matrix, Published, Seeding
from stampede.finding import BUILD, PROBLEM
from stampede.insights import check
from stampede.planning import checks, cost, predicting
from stampede.planning.cost.foreseen import foreseen
from stampede.planning.cost.prices import read_prices
from stampede.planning.plan import make_plan
from stampede.planning.predicting import prediction, questions
from stampede.stacks.infra_variables import infra_defaults
from tests.contract.declaration import ROOT, outputs, wrong
from tests.unit.loader.predicted_cells import AT_HALF

TARGETS = ("aws", "local")
# What the loader says in every work order.
RESERVED = {"run_id", "cell", "seq", "start_at_ms", "round", "warm_up"}

# What only a row of a report, or of a stack's outputs, has.
OF_A_ROW = {"memory_size_mb", "key_plan", "messages_per_concurrency"}


@pytest.fixture(params=EXPERIMENTS)
def experiment(request):
    return EXPERIMENTS[request.param]


@pytest.fixture(params=TARGETS)
def target(request):
    return request.param


@pytest.fixture
def plan(experiment, target):
    """The default plan."""
    return make_plan(experiment, target, (), messages_per_concurrency=experiment.messages_per_concurrency)


@pytest.fixture
def cells(plan):
    return plan.cells


KEY_PLAN = {"objects": "object_count", "seed": "data_seed"}


def as_outputs(values):
    """The outputs of a stack of these variables; those that no variable names are texts, but for the key plan."""
    plan = {
        field.name: values[KEY_PLAN.get(field.name, field.name)]
        for field in fields(KeyPlan)
        if KEY_PLAN.get(field.name, field.name) in values
    }
    return {name: values.get(name, f"the_{name}/") for name in outputs()} | {"key_plan": plan}


def test_its_declaration_is_complete(experiment):
    assert wrong(experiment) == []


DOWNLOAD = EXPERIMENTS["download"]
AXIS, METRIC = DOWNLOAD.axes[0], DOWNLOAD.metrics[1]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"axes": [replace(AXIS, record_field="colour")]}, "axis memory_size_mb: no record has colour"),
        ({"axes": [replace(AXIS, in_order=True)]}, "memory_size must be a variable of infra/, or else be in_order"),
        ({"axes": [replace(AXIS, variable="prefixx")]}, "infra/ has no output prefixx"),
        ({"metrics": [METRIC]}, "must be the time of its records, download_time_seconds"),
        ({"matrices": {"aws": Matrix({"colour": (1,)}, {})}}, "colour is neither a variable of infra/ nor an axis"),
        ({"controlled": {"colour": {"method": "stream"}}}, "controlled: colour is no variable"),
        ({"compare": [Compare("by_heat", "scale", ("heat",))]}, "comparison by_heat: there is no axis heat"),
        ({"published": [Published("filesystem_large", "", "", 1)]}, "filesystem_large: no row is of a cell"),
        ({"seeding": Seeding("placer", lambda values: ())}, "infra/ has no output placer, which seeding"),
        ({"name": "uploads"}, "infra/uploads.tf isn't there"),
    ],
)
def test_a_wrong_declaration_is_refused_with_what_is_wrong(changed, words):
    assert words in " | ".join(wrong(DOWNLOAD.with_(**changed)))


def test_a_variation_of_a_declaration_changes_what_there_is_and_the_original_stays():
    assert (DOWNLOAD.with_(query="own").query, DOWNLOAD.query) == ("own", "methods")
    with pytest.raises(TypeError, match="an experiment has no colour"):
        DOWNLOAD.with_(colour="red")


def test_its_saved_query_can_be_evaluated(experiment):
    for file in (ROOT / "queries" / experiment.name).glob("*.cwli"):
        check(file.read_text())


def test_its_default_matrix_keeps_its_own_rules_and_lambdas(plan):
    problems = [finding for finding in checks.run(plan, [checks.PLAN]) if finding.status == PROBLEM]
    # What isn't built on this machine says nothing about the plan.
    assert [finding.sentence for finding in problems if finding.way_out != BUILD] == []


def test_its_dry_run_prints_every_cell_the_duration_and_the_cost(experiment, plan, target, capsys, monkeypatch):
    monkeypatch.setattr(predicting, "prediction", lambda *_: AT_HALF)  # the next test asks the model
    assert main(["sweep", experiment.name, "--target", target, "--dry-run", "--format", "json"]) == 0
    printed = capsys.readouterr()
    assert sorted(row["cell"] for row in json.loads(printed.out)) == sorted(cell.name for cell in plan.cells)
    share = {"aws": 0.5, "local": None}[target]
    assert all(row["messages"] > 0 and row["share_at_n"] == share for row in json.loads(printed.out))
    assert "duration: about" in printed.err and "USD" in printed.err


def test_its_bill_has_a_price_for_every_line_and_a_total(plan):
    estimate = cost.estimate(plan)
    assert estimate.total_usd > 0
    assert estimate.unpriced == []
    assert all(item.quantity >= 0 for item in estimate.items)
    assert estimate.total_s > 0


def test_its_model_foresees_every_cell_of_its_default_matrix(plan):
    for cell in foreseen(plan):
        assert cell.is_foreseen, cell.name
        assert 0 < cell.longest_s <= cell.floods_s
        assert cell.longest_s / 10 < cell.working_s / cell.operations <= cell.longest_s
    _, question = next(questions(plan))
    answer = prediction(question)
    assert answer.bottleneck and answer.min_s <= answer.avg_s <= answer.max_s and "avg_s" in answer.ranges


def test_what_a_cell_takes_is_known(experiment, cells):
    known = infra_defaults({}).keys() | experiment.order_axes.keys()
    for usage in (experiment.usage(cell.values) for cell in cells):
        assert {use.price for use in usage.uses} <= read_prices().by_name.keys()
        assert usage.sized_by in known
        assert usage.moved_mb >= 0 and usage.data_mb >= 0 and usage.process_mb > 0 and usage.tmp_mb >= 512


def test_its_cells_have_the_values_that_it_types_and_it_reads_no_others(experiment, cells):
    values = get_type_hints(experiment.usage)["values"]
    typed, of_family = get_type_hints(values), set()
    for kind in vars(sys.modules[values.__module__]).values():
        of_family |= get_type_hints(kind).keys() if isinstance(kind, type) else set()
    own = [
        (name, get_args(kind), get_origin(kind) or kind, cell.values[name])
        for cell in cells
        for name, kind in typed.items()
    ]
    wrong = [
        (name, value) for name, choices, kind, value in own if type(value) is not kind and type(value) not in choices
    ]
    sources = (ROOT / "experiments" / experiment.name).glob("*.py")
    read = {name for path in sources for name in re.findall(r'\b(?:values|cell)\["(\w+)"\]', path.read_text("utf-8"))}
    assert (wrong, read - of_family - OF_A_ROW) == ([], set())


def test_its_objects_have_keys_of_their_own_and_fit_what_the_plan_counts(experiment, cells):
    for cell in cells:
        objects = experiment.objects(as_outputs(cell.values))
        assert len({item.key for item in objects}) == len(objects)
        assert all(item.key and item.size_bytes >= 0 for item in objects)
        assert (
            sum(item.size_bytes for item in objects if not item.copy_of)
            <= experiment.usage(cell.values).data_mb * 2**20
        )
        put_before = [item.key for item in objects]
        assert all(item.copy_of in put_before[:at] for at, item in enumerate(objects) if item.copy_of)


def test_its_work_orders_are_json_that_says_every_axis_of_theirs(experiment, cells):
    for cell in cells:
        stack = as_outputs(cell.values)
        order = experiment.order({**stack, **cell.in_order()}, experiment.objects(stack))
        assert json.loads(json.dumps(order)) == order
        assert not order.keys() & RESERVED
        # A number of 0 is none: it isn't said.
        assert {name: value for name, value in cell.in_order().items() if value != 0}.items() <= order.items()
        assert cell.in_order().keys() == experiment.order_axes.keys()


def test_the_messages_of_a_flood_name_every_slice_once(experiment, cells):
    if experiment.shared_list is None:
        return
    for cell in cells:
        stack = as_outputs({**cell.values, "from_manifest": True, "slice_rows": 400})
        planned = experiment.shared_list.manifest(stack)
        count = experiment.messages(stack)
        named = [experiment.of_message({**stack, **cell.values, "from_manifest": True}, at) for at in range(count)]
        slices = [at for order in named for at in range(order["first_slice"], order["first_slice"] + order["slices"])]
        assert slices == list(range(planned.slice_count))
        assert experiment.preparation(stack) == {"empty_first": 1, "first_slice": 0, "slices": 0}
        order = experiment.order({**stack, **cell.values, "from_manifest": True}, ())
        assert order["manifest"] == planned.manifest
        assert not order.keys() & named[0].keys()


def test_where_nothing_names_slices_a_function_empties_the_destination_itself():
    values = {
        "from_manifest": False,
        "parallel_limit": 7,
        "retry_mode": "standard",
        "retry_attempts": 4,
        "pace": "fixed",
    }
    copying = EXPERIMENTS["copy"]
    order_values = {name: value for name, value in values.items() if name != "from_manifest"}
    assert copying.order({**values, "calls_per_s": 0}, ()) == {**order_values, "empty_first": 1}
    assert copying.order({**values, "calls_per_s": 80}, ())["calls_per_s"] == 80
    assert copying.of_message(values, 3) == {}
    assert copying.preparation(values) is copying.shared_list.manifest(values) is copying.messages(values) is None
