"""The model's answers about a cell, their ranges, and the same answer to the same question."""

from dataclasses import replace

import pytest

from stampede.model.prediction import OF_KINDS, RANGED, figures, predict
from stampede.model.scenario import enough, evaluate, evaluations, flood_of, part_of
from stampede.model.trigger import kept
from stampede.model.work import Work
from tests.unit.model.scenarios import AWS, WAITING, a_cell, polled


def course(cell, part=1):
    return evaluate(cell, AWS, part=part).course


def test_a_trigger_with_crashing_functions_reaches_the_measured_concurrency():
    def reached(crashing, **how):
        return course(a_cell(concurrency=100, each=40, crashing=crashing, **how)).most_at_once

    assert [reached(share) for share in (0.0, 0.01, 0.05, 0.1)] == [100, 41, 26, 21]
    assert [kept(share, AWS) for share in (0.005, 0.5)] == pytest.approx([(1 + 0.417) / 2, 0.217])
    assert reached(0.05, **polled(10)) == 100


def test_every_figure_lies_within_its_range_and_the_same_seed_has_the_same_answer():
    cell = a_cell(WAITING, of_work={"spread": 0.1})
    predicted = predict(cell, AWS, seed=7)
    assert predicted == predict(cell, AWS, seed=7) != predict(cell, AWS, seed=8)
    values = {name: getattr(predicted, name) for name in RANGED}
    values |= {name: getattr(predicted, kind)["avg_s"] for name, kind in OF_KINDS.items()}
    assert predicted.ranges.keys() == values.keys()
    assert all(low <= values[name] <= high for name, (low, high) in predicted.ranges.items())
    low, high = predicted.ranges["avg_s"]
    assert low < predicted.avg_s < high and predicted.ranges["share_at_n"][1] <= 1
    assert predicted.requests_limit_per_s == AWS["s3_get_per_s"]


@pytest.mark.parametrize("spread", [0.1, 0.6])
def test_small_floods_that_follow_the_model_lie_in_its_ranges(spread):
    cell, runs = a_cell(each=5, concurrency=1, of_work={"spread": spread}), 200
    known = AWS.with_rows(replace(row, low=row.value, high=row.value) for row in map(AWS.row, AWS))
    intervals = predict(cell, known).ranges
    floods = [
        figures(evaluation.course)
        for evaluation in evaluations(cell, known, ([9, at] for at in range(runs)))
    ]
    out = [
        any(
            not intervals[name][0] <= flood[name] <= intervals[name][1]
            for name in ("avg_s", "span_s")
        )
        for flood in floods
    ]
    assert sum(out) <= 0.05 * runs


def test_less_certain_figures_have_wider_ranges():
    def width(low, high):
        row = replace(AWS.row("hand_over_s"), low=low, high=high)
        ends = predict(a_cell(concurrency=5), AWS.with_rows([row])).ranges["span_s"]
        return ends[1] - ends[0]

    assert width(0.001, 5) > 3 * width(0.029, 0.031)


def test_after_a_warm_up_its_environments_do_not_start_cold():
    cell = a_cell(concurrency=20, each=5)
    colds = [course(replace(cell, warm_up=warm_up)).of_first["count"] for warm_up in (0, 5, 100)]
    assert colds == [20, 15, 0]


def test_a_part_of_a_large_flood_behaves_and_counts_as_the_whole():
    cell = a_cell(WAITING, concurrency=1000, each=20, **polled(50, 100))
    assert enough(cell) == 0.25
    whole, part = (vars(course(cell, share)) for share in (1, 0.25))
    names = ("avg_s", "time_to_n_s", "share_at_n", "drain_s")
    expected = {name: whole[name] for name in names}
    assert {name: part[name] for name in names} == pytest.approx(expected, rel=0.05)
    lost = a_cell(concurrency=200, each=4, timeout_s=9.0, **polled(50, 100))
    part = course(lost, 0.25)
    assert (part.dead_lettered, part.most_at_once) == (800, 200)
    assert enough(lost, part, attempts=2400) == 0.6  # of five attempts a message


@pytest.mark.parametrize("n", [455, 500, 777])
def test_a_part_of_a_flood_reaches_n_as_the_whole_does(n):
    for each in range(7, 50):
        cell = a_cell(concurrency=n, account_concurrency=n, each=each)
        part = part_of(flood_of(cell, Work([]), AWS), enough(cell))
        assert int(part.trigger.most) == int(part.account_concurrency) == part.concurrency
