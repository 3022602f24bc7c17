"""A prediction of few messages isn't one throw of the dice."""

import pytest

from model import parameters as known
from model.parameters import Parameters
from model.prediction import Scenario, predict
from model.work import Step, Work

P = Parameters(known.read(known.AWS))


@pytest.mark.parametrize("seed", range(1, 6))
def test_one_message_is_foreseen_as_its_middle_and_what_chance_adds_is_in_the_range(seed):
    work = Work([Step("working", requests=100, request_s=1.0)], network="host", spread=0.1)
    scenario = Scenario(lambda _: work, 1, 1, 512, float("inf"), 1.0, trigger="")
    predicted = predict(scenario, P, seed)
    assert predicted.avg_s == pytest.approx(100, rel=0.06)
    low, high = predicted.ranges["avg_s"]
    assert low < 95 and high > 105
