"""What binds a cell and what to change: every figure of the advice is one that the model confirms."""

import re
from dataclasses import replace

import pytest

from stampede.model.advice import advise
from stampede.model.bottleneck import bottlenecks
from stampede.model.scenario import expect
from stampede.model.work import Step
from tests.unit.model.scenarios import AWS, a_cell

POLLERS = r"with provisioned_pollers=\{minimum=(\d+),maximum=(\d+)\}"

GIB = 2**30
WAITING = Step("waiting", requests=100, request_s=0.1, rate="s3_get")


def advice_on(cell):
    """The bottlenecks, in words, and the changes."""
    evaluation = expect(cell, AWS, 1)
    limits = bottlenecks(cell, evaluation, 1)
    return [bottleneck.words for bottleneck in limits], advise(cell, AWS, evaluation, limits, 1)


def sentence(changes):
    """All changes in one line."""
    return "; ".join(change.words for change in changes)


def course(cell, **changes):
    """The model, asked again with these changes."""
    return expect(replace(cell, **changes), AWS, 1).course


def test_nothing_is_advised_where_nothing_is_wrong():
    words, changes = advice_on(a_cell(concurrency=10))
    assert changes == []
    assert words == [expect(a_cell(concurrency=10), AWS, 1).operation.bottleneck]
    [slow], _ = advice_on(a_cell(Step("waiting", requests=1, request_s=12.0), concurrency=1))
    assert slow == "waiting for answers, 12,000 ms each, 1 at a time"


def test_of_a_ramp_the_messages_or_the_pollers_are_named_that_reach_the_share_that_is_said():
    cell = a_cell(concurrency=200, each=5)
    words, changes = advice_on(cell)
    assert words == ["the trigger's ramp: +300 a minute from 5"]
    each, share = map(
        int,
        re.match(r"with (\d+) x N messages, (\d+) % of the operations' time is in full ov", changes[0].words).groups(),
    )
    assert int(100 * course(cell, messages=each * 200).share_at_n) == share >= 90
    least, most, share = map(int, re.match(POLLERS + r", (\d+) %", changes[1].words).groups())
    faster = course(cell, trigger="provisioned", pollers=(least, most), maximum_concurrency=None)
    assert int(100 * faster.share_at_n) == share >= 90


def test_pollers_that_need_as_many_messages_are_not_named():
    uneven = Step("waiting", requests=1, request_s=1.0)
    words, changes = advice_on(a_cell(uneven, concurrency=5, each=3, of_work={"spread": 1.0}))
    assert words[0].startswith("the number of messages: 3 for each of N")
    assert re.fullmatch(r"with \d+ x N messages, 9\d % of the operations' time is in full overlap", sentence(changes))


def test_of_the_messages_that_are_shares_of_a_list_a_smaller_n_is_named():
    uneven = Step("waiting", requests=1, request_s=10.0)
    cell = a_cell(
        uneven,
        concurrency=200,
        each=2,
        shares_a_list=True,
        trigger="provisioned",
        pollers=(20, 20),
        of_work={"spread": 0.5},
    )
    words, changes = advice_on(cell)
    n, share = map(int, re.match(r"with N = (\d+), (\d+) %", changes[0].words).groups())
    assert words[0].startswith("the number of messages: 2 for each of N")
    assert changes[0].scenario.concurrency == n < 200
    assert changes[0].scenario.messages == cell.messages
    assert int(100 * course(changes[0].scenario).share_at_n) == share >= 90


def test_of_a_shared_limit_it_is_said_what_it_costs_and_with_how_many_all_is_done_as_soon():
    cell = a_cell(WAITING, concurrency=1200, each=3, trigger="provisioned", pollers=(120, 120))
    words, changes = advice_on(cell)
    assert words == ["S3's GET rate: 5,500 a second for all"]
    free_s, now_s = map(
        float,
        re.match(r"without the bottleneck, one takes ([\d.]+) s instead of ([\d.]+) s", changes[0].words).groups(),
    )
    assert free_s == pytest.approx(10, rel=0.02)
    assert now_s == pytest.approx(course(cell).avg_s, rel=0.01)
    n, all_s = re.match(r"N = ([\d,]+) finishes all in ([\d,]+) s", changes[1].words).groups()
    assert changes[1].scenario.concurrency == int(n.replace(",", "")) < 1200
    assert round(course(changes[1].scenario).drain_s) == int(all_s.replace(",", ""))


def test_in_a_vpc_more_subnets_are_named_that_take_the_limit_away():
    cell = a_cell(
        Step("reading", bytes=GIB), concurrency=128, trigger="provisioned", pollers=(13, 13), of_work={"network": "vpc"}
    )
    words, changes = advice_on(cell)
    assert words == ["the VPC's network: 5.7 GB a second for all"]
    subnets, seconds = re.match(r"in (\d+) subnets it takes ([\d.]+) s", changes[1].words).groups()
    assert course(cell.with_work(subnets=int(subnets))).avg_s == pytest.approx(float(seconds), rel=0.01)


def test_of_a_timeout_that_cuts_off_the_one_is_named_with_which_all_end():
    cell = a_cell(
        Step("working", requests=1, request_s=10.0), concurrency=5, each=2, timeout_s=9.0, visibility_timeout_s=54.0
    )
    words, changes = advice_on(cell)
    assert words[0] == "the function's timeout: 9 s, which cuts off 100 % of the attempts"
    seconds = float(
        re.match(r"with timeout_s = (\d+), 10 instead of 0 operations complete", sentence(changes)).group(1)
    )
    assert course(cell, timeout_s=seconds, visibility_timeout_s=6 * seconds).succeeded == 10


def test_of_pollers_that_fetch_far_more_than_n_take_fewer_are_named():
    cell = a_cell(
        Step("working", fixed_s=50.0),
        concurrency=20,
        each=10,
        trigger="provisioned",
        pollers=(20, 20),
        visibility_timeout_s=60.0,
    )
    words, changes = advice_on(cell)
    assert words[0] == "reserved concurrency: 20, but the trigger fetches for 200"
    dead, now = map(
        int,
        re.match(
            r"with provisioned_pollers=\{minimum=2,maximum=2\}, (\d+) messages end as dead letters instead of (\d+)",
            changes[0].words,
        ).groups(),
    )
    assert (course(cell, pollers=(2, 2)).dead_lettered, course(cell).dead_lettered) == (dead, now)
    assert dead < now


def test_of_operations_too_short_for_n_at_one_moment_that_is_said_and_a_smaller_n_is_named():
    words, [change] = advice_on(a_cell(Step("working", fixed_s=0.01), concurrency=200, each=50))
    assert words == ["the length of the operations: 0.01 s, too short for N = 200 at the same moment"]
    n, share = map(int, re.match(r"with N = (\d+), (\d+) %", change.words).groups())
    assert change.scenario.concurrency == n < 200
    assert int(100 * course(change.scenario).share_at_n) == share >= 90


def test_no_advice_has_seconds_of_operations_of_which_most_floods_have_none():
    step = Step("waiting", requests=100, request_s=0.1, rate="s3_get")
    cell = a_cell(step, concurrency=5, each=1, timeout_s=9.0, visibility_timeout_s=54.0, of_work={"spread": 0.06})
    slow = AWS.with_rows([replace(AWS.row("s3_get_per_s"), value=20, low=20, high=20)])
    evaluation = expect(cell, slow, 1)
    words = sentence(advise(cell, slow, evaluation, bottlenecks(cell, evaluation, 1), 1))
    assert "nan" not in words


def test_of_the_triggers_own_cap_it_is_said_that_it_keeps_n_from_being_reached():
    words, changes = advice_on(a_cell(concurrency=20, maximum_concurrency=10))
    assert words[0] == "the trigger's maximum concurrency: 10 at once, but N = 20"
    assert sentence(changes) == "with maximum_concurrency = 20, 20 run at once"
