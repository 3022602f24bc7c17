"""The model's predictions for a plan's cells, and their use in cost and duration."""

from dataclasses import replace

import pytest

from experiments import EXPERIMENTS
from experiments.download import checks as download_checks
from stampede.errors import UsageError
from stampede.finding import PROBLEM
from stampede.planning import cost
from stampede.planning.cost import check_budget
from stampede.planning.plan import with_rounds
from stampede.planning.predicting import (
    LOCAL_MIB_PER_S,
    LOCAL_OPERATION_S,
    NOTHING,
    Given,
    expected,
    foreseen,
    on_this_machine,
    parameters_of,
    predicted,
    prediction,
    questions,
    refuse,
)
from tests.unit.plans import plan

DOWNLOAD = EXPERIMENTS["download"]


def download(settings="", each=2, **options):
    return plan(f"memory_size=2048 {settings}", each=each, **options)


def question(settings="", given=NOTHING, **options):
    [(_, asked)] = questions(download(f"concurrency_value=2 {settings}", **options), given)
    return asked


def foreseen_cell(settings, **options):
    [cell] = foreseen(download(settings, **options))
    return cell


def test_the_same_question_has_one_answer_and_any_relevant_change_is_a_new_question():
    known = parameters_of(DOWNLOAD)
    slower = known.with_rows(
        [replace(known.row("network_bytes_per_s"), value=3e7, low=3e7, high=3e7)]
    )
    base = question()
    assert base == question() and expected(base) is expected(question())
    given = [Given(slower), Given(bandwidth_quota=True), Given(crashing=0.01)]
    variations = [question(given=beside) for beside in given]
    assert len({base, *variations, question(seed=2), question("object_size_mb=8")}) == 1 + 5
    assert expected(variations[0]).course.avg_s > 1.5 * expected(base).course.avg_s
    assert base.varied(messages=6) == question(each=3)


def test_a_plan_that_the_checks_refuse_is_not_predicted_but_an_unbuilt_one_is(
    monkeypatch, tmp_path
):
    with pytest.raises(UsageError, match="ephemeral_storage_mb"):
        refuse(download("ephemeral_storage_mb=512"))
    go = download("method=go_ranges")
    monkeypatch.setattr(download_checks, "ROOT", tmp_path)
    assert PROBLEM in {
        finding.status for finding in DOWNLOAD.checks([cell.values for cell in go.cells])
    }
    refuse(go)


def test_more_concurrency_than_an_account_can_reserve_is_not_predicted():
    refuse(download("concurrency_value=500"), Given(account_concurrency=600))
    with pytest.raises(UsageError, match="500 can be reserved"):
        refuse(download("concurrency_value=501"), Given(account_concurrency=600))


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
    [cell], [example_cell] = foreseen(own), foreseen(example)
    assert example_cell.is_foreseen and not cell.is_foreseen and cell.working_s == 70
    predictions, why_not = predicted(own)
    assert not predictions and "--run" in why_not
    estimated = cost.estimate(own)
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
    [local], [aws] = on_this_machine(here), foreseen(here)
    estimated = cost.estimate(here)
    quantities = {item.what: item.quantity for item in estimated.items}
    # two of 2 GB
    assert quantities["compute, x86_64"] == pytest.approx((aws.working_s + 2 * aws.start_s) * 2)
    assert estimated.cells == (local,) and not estimated.unforeseen and predicted(here) == ({}, "")
    assert local.floods_s == pytest.approx(4 * (LOCAL_OPERATION_S + 8 / LOCAL_MIB_PER_S))
    check_budget(estimated, 0.0)


def test_a_round_of_several_at_once_is_a_flood_of_its_own():
    made = plan("dataset=small threads=1,30 concurrency_value=4", "filesystem", "local", each=10)
    whole = prediction(next(questions(with_rounds(made, 1)))[1], False)
    rounds = prediction(next(questions(with_rounds(made, None)))[1], False)
    assert (rounds.count, rounds.avg_s) == (40, whole.avg_s)
    assert rounds.time_to_n_s < whole.time_to_n_s, "its environments are warm"
    assert rounds.span_s > 0.8 * whole.span_s
    assert foreseen(with_rounds(made))[0].floods_s == pytest.approx(rounds.drain_s)
