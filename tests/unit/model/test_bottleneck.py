"""The bottleneck of a cell, for floods that each meet one limit."""

from dataclasses import replace

import pytest

from stampede.model.bottleneck import bottleneck
from stampede.model.scenario import expect
from stampede.model.work import Step
from tests.unit.model.scenarios import AWS, WAITING, a_cell, polled

CUT = {"concurrency": 5, "each": 2, "timeout_s": 9.0, "visibility_timeout_s": 54.0}
SCATTERED = {"concurrency": 5, "each": 3, "of_work": {"spread": 1.0}}
LIMITED = {
    "the trigger's ramp: +300 a minute from 5": a_cell(concurrency=200, each=5),
    "the number of messages: 3 for each": a_cell(
        Step("waiting", requests=1, request_s=1.0), **SCATTERED
    ),
    "the number of messages: 20, fewer than N = 40": a_cell(concurrency=40, messages=20),
    "S3's GET rate: 5,500": a_cell(WAITING, concurrency=1200, each=3, **polled(120)),
    "the VPC's network: 5.7 GB": a_cell(
        Step("reading", bytes=2**30), concurrency=128, of_work={"network": "vpc"}, **polled(13)
    ),
    "the function's timeout: 9 s, which cuts off 100 %": a_cell(**CUT),
    "reserved concurrency: 20, but the trigger fetches for 200": a_cell(
        Step("working", fixed_s=50.0), concurrency=20, visibility_timeout_s=60.0, **polled(20)
    ),
    "the length of the operations: 0.01 s": a_cell(
        Step("working", fixed_s=0.01), concurrency=200, each=50
    ),
    "the trigger's maximum concurrency: 10": a_cell(concurrency=20, maximum_concurrency=10),
    "the trigger, slowed down by crashes (5 %): 26": a_cell(
        concurrency=100, each=40, crashing=0.05
    ),
    "the account's concurrency: 30": a_cell(account_concurrency=30),
    "waiting for answers, 12,000 ms": a_cell(
        Step("waiting", requests=1, request_s=12.0), concurrency=1
    ),
}


def limits(cell, known=AWS):
    return bottleneck(cell, expect(cell, known, 1), 1)


@pytest.mark.parametrize("words", LIMITED)
def test_a_limit_is_named_with_its_figures(words):
    assert limits(LIMITED[words]).startswith(words)


def test_a_rate_far_below_the_demand_is_named_with_the_timeout_that_it_causes():
    slow = AWS.with_rows([replace(AWS.row("s3_get_per_s"), value=20)])
    first, second = limits(a_cell(WAITING, **CUT), slow).split("; ")
    assert "timeout: 9 s" in first and "GET rate: 20 a second" in second
