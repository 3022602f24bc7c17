"""The model's predictions for a plan's cells, and their use in cost and duration."""

from dataclasses import replace

import pytest

from experiments import EXPERIMENTS
from experiments.parameters import known_parameters
from stampede.errors import UsageError
from stampede.planning import cost
from stampede.planning.cost import check_budget
from stampede.planning.cost.durations import LOCAL_MIB_PER_S, LOCAL_OPERATION_S
from stampede.planning.plan import with_rounds
from stampede.planning.predicting import foresee
from tests.unit.plans import plan


def download(settings="", each=2, **options):
    return plan(f"memory_size=2048 {settings}", each=each, **options)


def foreseen_cell(settings, given=None, **options):
    [cell] = foresee(download(settings, **options), **(given or {}))
    return cell


def test_parameters_and_what_is_known_of_the_account_decide_the_answer():
    known = known_parameters("download")
    slower = known.with_rows(
        [replace(known.row("network_bytes_per_s"), value=3e7, low=3e7, high=3e7)]
    )
    two = "concurrency_value=2"
    usual = foreseen_cell(two)
    assert foreseen_cell(two, {"parameters": slower}).working_s > 1.5 * usual.working_s
    assert foreseen_cell(two, {"crashing": 0.5}).floods_s > 2 * usual.floods_s
    assert foreseen_cell(two, {"account_concurrency": 1}).floods_s > 1.5 * usual.floods_s
    large = plan("memory_size=10240 concurrency_value=2", each=2)
    [own], [wide] = foresee(large), foresee(large, bandwidth_quota=True)
    assert wide.floods_s < 0.7 * own.floods_s
    assert foreseen_cell(two, seed=2).floods_s != usual.floods_s == foreseen_cell(two).floods_s


def test_more_functions_at_once_have_a_ramp_and_provisioned_pollers_shorten_it():
    few, many = foreseen_cell("concurrency_value=5"), foreseen_cell("concurrency_value=100")
    pollers = foreseen_cell("concurrency_value=100 provisioned_pollers={minimum=10,maximum=10}")
    assert few.floods_s + 5 < many.floods_s and pollers.floods_s < many.floods_s - 5


def test_a_warm_up_is_a_flood_of_its_own():
    plain = foreseen_cell("concurrency_value=5", warm_up_per_concurrency=0)
    warmed = foreseen_cell("concurrency_value=5", warm_up_per_concurrency=2)
    # Ten more messages, and the measured ones start warm.
    assert warmed.floods_s == pytest.approx(2 * plain.floods_s, rel=0.05)
    assert warmed.working_s == pytest.approx(2 * plain.working_s, rel=0.05)
    assert warmed.operations == 2 * plain.operations == 20, "each is billed as a request"


def test_every_attempt_that_times_out_is_billed():
    cut = foreseen_cell("concurrency_value=1 timeout_s=5")
    whole = foreseen_cell("concurrency_value=1")
    assert cut.longest_s == pytest.approx(whole.longest_s)
    assert cut.working_s == 2 * 5 * 5  # two messages, five attempts each
    assert whole.working_s < 2 * whole.longest_s < whole.floods_s + whole.longest_s


def test_cells_of_unknown_duration_cost_at_most_their_time_limit(tmp_path, monkeypatch):
    (tmp_path / "app.py").write_text("def handler(event, context): ...")
    settings = "concurrency_value=1 memory_size=1024 timeout_s=7"
    own = plan(f"{settings} package={tmp_path}", "function", each=10)
    example = plan(settings, "function", each=10)
    [cell], [example_cell] = foresee(own), foresee(example)
    assert example_cell.question and not cell.question and cell.working_s == 70
    estimated = cost.estimate(own)
    assert not estimated.predictions() and "--run" in cell.why_not
    assert "at most" in estimated.sentences()[1]
    check_budget(estimated, 5)
    with pytest.raises(UsageError, match="estimated cost"):
        check_budget(estimated, 0.0001)
    # A host has no time limit.
    broken = EXPERIMENTS["copy_host"].with_(work=lambda *_: 1 / 0)
    monkeypatch.setitem(EXPERIMENTS, "copy_host", broken)
    with pytest.raises(UsageError, match="can't be guaranteed"):
        check_budget(cost.estimate(plan(experiment="copy_host")), 5)


def test_a_local_plan_is_billed_as_on_aws_and_lasts_as_long_as_on_this_machine():
    here = download("object_size_mb=8 concurrency_value=2", target="local")
    [cell], estimated = foresee(here), cost.estimate(here)
    quantities = {item.what: item.quantity for item in estimated.items}
    # two of 2 GB
    assert quantities["compute, x86_64"] == pytest.approx((cell.working_s + 2 * cell.start_s) * 2)
    assert not estimated.unforeseen and not estimated.predictions()
    each_s = LOCAL_OPERATION_S + 8 / LOCAL_MIB_PER_S
    assert estimated.cells_s[cell.name] == pytest.approx(4 * each_s + 10 + 2)
    check_budget(estimated, 0.0)


def test_a_round_of_several_at_once_is_a_flood_of_its_own():
    made = plan("dataset=small threads=1,30 concurrency_value=4", "filesystem", "local", each=10)
    [one, *_], [several, *_] = (foresee(with_rounds(made, asked)) for asked in (1, None))
    whole, rounds = one.question.predict(False), several.question.predict(False)
    assert (rounds.count, rounds.avg_s) == (40, whole.avg_s)
    assert rounds.time_to_n_s < whole.time_to_n_s, "its environments are warm"
    assert rounds.span_s > 0.8 * whole.span_s
    assert several.floods_s == pytest.approx(rounds.drain_s)
    alone = download("concurrency_value=1")
    shared = replace(alone, cells=tuple(replace(cell, rounds=2) for cell in alone.cells))
    assert foresee(shared)[0].floods_s == foresee(alone)[0].floods_s
