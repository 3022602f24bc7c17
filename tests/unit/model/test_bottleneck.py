"""What limits a cell, of floods that are made to meet one limit each."""

from dataclasses import replace

import pytest

from stampede.model.bottleneck import bottleneck
from stampede.model.scenario import expect
from stampede.model.work import Step
from tests.unit.model.scenarios import AWS, a_cell

WAITING = Step("waiting", requests=100, request_s=0.1, rate="s3_get")
READING = Step("reading", bytes=2**30)
WORKING = Step("working", requests=1, request_s=10.0)
POLLED = {"trigger": "provisioned"}
LIMITED = {
    "the trigger's ramp: +300 a minute from 5": a_cell(concurrency=200, each=5),
    "the number of messages: 3 for each of N, so most of the time is the end of the flood": a_cell(
        Step("waiting", requests=1, request_s=1.0), concurrency=5, each=3, of_work={"spread": 1.0}
    ),
    "the number of messages: 20, fewer than N = 40": a_cell(concurrency=40, messages=20),
    "S3's GET rate: 5,500 a second for all": a_cell(WAITING, concurrency=1200, each=3, pollers=(120, 120), **POLLED),
    "the VPC's network: 5.7 GB a second for all": a_cell(
        READING, concurrency=128, pollers=(13, 13), of_work={"network": "vpc"}, **POLLED
    ),
    "the function's timeout: 9 s, which cuts off 100 % of the attempts": a_cell(
        WORKING, concurrency=5, each=2, timeout_s=9.0, visibility_timeout_s=54.0
    ),
    "reserved concurrency: 20, but the trigger fetches for 200": a_cell(
        Step("working", fixed_s=50.0), concurrency=20, pollers=(20, 20), visibility_timeout_s=60.0, **POLLED
    ),
    "the length of the operations: 0.01 s, too short for N = 200 at the same moment": a_cell(
        Step("working", fixed_s=0.01), concurrency=200, each=50
    ),
    "the trigger's maximum concurrency: 10 at once, but N = 20": a_cell(concurrency=20, maximum_concurrency=10),
    "the trigger, slowed down by crashes (5 %): 26 at once, but N = 100": a_cell(
        concurrency=100, each=40, crashing=0.05
    ),
    "the account's concurrency: 30 at once, but N = 50": a_cell(account_concurrency=30),
    "waiting for answers, 12,000 ms each, 1 at a time": a_cell(
        Step("waiting", requests=1, request_s=12.0), concurrency=1
    ),
}


@pytest.mark.parametrize("words", LIMITED)
def test_a_limit_is_named_with_its_figures(words):
    cell = LIMITED[words]
    assert bottleneck(cell, expect(cell, AWS, 1), 1).split("; ")[0] == words


def test_a_rate_far_below_what_all_ask_for_is_named_beside_the_timeout_that_it_leads_to():
    cell = a_cell(WAITING, concurrency=5, each=2, timeout_s=9.0, visibility_timeout_s=54.0)
    slow = AWS.with_rows([replace(AWS.row("s3_get_per_s"), value=20)])
    first, second = bottleneck(cell, expect(cell, slow, 1), 1).split("; ")
    assert first.startswith("the function's timeout: 9 s") and second == "S3's GET rate: 20 a second for all"
