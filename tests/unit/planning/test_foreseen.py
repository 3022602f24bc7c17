"""What cost and duration take from the model: the cells of a plan with the seconds of their floods."""

import pytest

from experiments import EXPERIMENTS
from stampede.errors import UsageError
from stampede.planning import cost
from stampede.planning.checks import share
from stampede.planning.cost import check_budget
from stampede.planning.cost.foreseen import LOCAL_MIB_PER_S, LOCAL_OPERATION_S, foreseen, on_this_machine
from stampede.planning.plan import make_plan


def plan(*settings, target="aws", each=2, **options):
    settings = ["memory_size=2048", *settings]
    return make_plan(EXPERIMENTS["download"], target, settings, messages_per_concurrency=each, **options)


def foreseen_cell(*settings, **options):
    [cell] = foreseen(plan(*settings, **options))
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
    first, second = foreseen(plan("concurrency_value=2", repeats=2))
    assert (first.cell.alike, first.working_s) == (second.cell.alike, second.working_s) and first.name != second.name


def test_cells_that_cannot_be_are_not_foreseen_and_cost_their_time_limit_at_most():
    impossible = plan("concurrency_value=1", "method=stream", "range_part_mb=65,16", "timeout_s=60")
    cells = foreseen(impossible)
    assert [cell.working_s for cell in cells if not cell.is_foreseen] == [2 * 60]
    estimated = cost.estimate(impossible)
    assert "at most" in estimated.sentences()[1] and "1 of 2 cells" in estimated.sentences()[-1]
    check_budget(estimated, 5)
    with pytest.raises(UsageError, match="estimated cost"):
        check_budget(estimated, 0.001)


def test_a_users_own_function_isnt_predicted_by_the_examples_numbers(tmp_path):
    (tmp_path / "app.py").write_text("def handler(event, context): ...")
    settings = ["concurrency_value=1", "memory_size=1024", "timeout_s=7"]
    function = EXPERIMENTS["function"]
    example = make_plan(function, "aws", settings, messages_per_concurrency=10)
    own = make_plan(function, "aws", [*settings, f"package={tmp_path}"], messages_per_concurrency=10)
    [cell], [own_cell] = (foreseen(made) for made in (example, own))
    assert cell.is_foreseen and not own_cell.is_foreseen and own_cell.working_s == 70
    predicted, why_not = share.predicted(own)
    assert not predicted and "simulate function --run" in why_not


def test_no_budget_is_promised_for_hosts_whose_time_nobody_knows(monkeypatch):
    monkeypatch.setitem(EXPERIMENTS, "copy_host", EXPERIMENTS["copy_host"].with_(work=lambda *_: 1 / 0))
    hosts = make_plan(EXPERIMENTS["copy_host"], "aws", [], messages_per_concurrency=1)
    with pytest.raises(UsageError, match=r"^--budget-usd 5: can't be guaranteed"):
        check_budget(cost.estimate(hosts), 5)


def test_a_local_plan_is_billed_as_on_aws_and_lasts_as_long_as_here():
    here = plan("object_size_mb=8", "concurrency_value=2", target="local")
    [local], [aws] = on_this_machine(here), foreseen(here)
    estimated = cost.estimate(here)
    [item] = [item for item in estimated.items if item.what == "compute, x86_64"]
    assert item.quantity == pytest.approx((aws.working_s + 2 * aws.start_s) * 2)  # two functions of 2 GB
    assert estimated.cells == (local,) and not estimated.unforeseen
    assert local.floods_s == pytest.approx(4 * (LOCAL_OPERATION_S + 8 / LOCAL_MIB_PER_S))
