"""What cost and duration take from the model: the cells of a plan with the seconds of their floods."""

import pytest

from experiments import EXPERIMENTS
from stampede.errors import UsageError
from stampede.planning import cost
from stampede.planning.cost import check_budget
from stampede.planning.cost.foreseen import foreseen
from stampede.planning.plan import make_plan
from stampede.stacks.infra_variables import infra_defaults

DEFAULTS = infra_defaults({})


def plan(*settings, target="aws", each=2, **options):
    settings = ["memory_size=2048", *settings]
    return make_plan(EXPERIMENTS["download"], target, settings, messages_per_concurrency=each, **options)


def foreseen_cell(*settings, **options):
    [cell] = foreseen(plan(*settings, **options), DEFAULTS, "aws")
    return cell


def test_more_functions_at_once_have_a_ramp_and_provisioned_pollers_shorten_it():
    few, many = foreseen_cell("concurrency_value=5"), foreseen_cell("concurrency_value=100")
    assert many.floods_s > few.floods_s + 5
    pollers = foreseen_cell("concurrency_value=100", "provisioned_pollers={minimum=10,maximum=10}")
    assert pollers.floods_s < many.floods_s - 5


def test_a_warm_up_is_a_flood_of_its_own():
    plain, warmed = (
        foreseen_cell("concurrency_value=5"),
        foreseen_cell("concurrency_value=5", warm_up_per_concurrency=2),
    )
    # Ten messages more; and those that are measured start warm.
    assert 1.9 * plain.floods_s < warmed.floods_s < 2.1 * plain.floods_s
    assert 1.9 * plain.working_s < warmed.working_s < 2.1 * plain.working_s


def test_what_is_cut_off_at_the_time_limit_is_billed_for_every_attempt_and_its_own_seconds_are_known():
    cut, whole = foreseen_cell("concurrency_value=1", "timeout_s=5"), foreseen_cell("concurrency_value=1")
    assert cut.longest_s == pytest.approx(whole.longest_s)
    assert cut.working_s == 2 * 5 * 5  # two messages, five attempts each
    assert whole.working_s < 2 * whole.longest_s < whole.floods_s + whole.longest_s


def test_repeats_of_a_cell_are_foreseen_alike():
    first, second = foreseen(plan("concurrency_value=2", repeats=2), DEFAULTS, "aws")
    assert (first.alike, first.working_s) == (second.alike, second.working_s) and first.name != second.name


def test_cells_that_cannot_be_are_not_foreseen_and_the_estimate_says_so_and_no_budget_is_promised():
    impossible = plan("concurrency_value=1", "method=stream", "range_part_mb=65,16")
    assert [cell.is_foreseen for cell in foreseen(impossible, DEFAULTS, "aws")].count(False) == 1
    estimated = cost.estimate(impossible, defaults=DEFAULTS)
    assert estimated.sentences()[-1] == (
        "not counted: the operations' own time in 1 of 2 cells, for which there is no prediction"
    )
    with pytest.raises(
        UsageError, match=r"^--budget-usd 5: can't be guaranteed, because the model can't predict how long"
    ):
        check_budget(estimated, 5)


def test_a_local_plan_is_billed_as_on_aws_and_lasts_as_long_as_here():
    here = plan("object_size_mb=8", "concurrency_value=2", target="local")
    [local], [aws] = (foreseen(here, DEFAULTS, place) for place in ("local", "aws"))
    estimated = cost.estimate(here, defaults=DEFAULTS)
    [item] = [item for item in estimated.items if item.what == "compute, x86_64"]
    assert item.quantity == pytest.approx((aws.working_s + 2 * aws.start_s) * 2)  # two functions of 2 GB
    assert estimated.cells == (local,) and local.working_s != aws.working_s
