"""What all workers share, against arithmetic by hand."""

import numpy as np
import pytest

from stampede.model.engine import Engine
from stampede.model.flood import Flood
from stampede.model.limits import Limit
from stampede.model.operation import Operation
from stampede.model.sharing import Shared
from stampede.model.simulation import run

BYTES, REQUESTS = "the VPC", "S3's rate"


def course(messages, workers, limits, demands, seconds=10.0, messages_per_s=float("inf"), timeout_s=1e6, **changes):
    doing = Operation(lambda random, count, cold: np.full(count, seconds), seconds, demands, 1.0, "hand-made")
    flood = Flood(messages, workers, messages_per_s, None, timeout_s, 6 * timeout_s, **changes)
    return run(flood, doing, limits, seed=1)


def test_a_shared_limit_gives_its_capacity_over_the_demand_whoever_wants_more():
    result = course(200, 100, [Limit(BYTES, [50.0])], {BYTES: 2.0})
    # 25 of 100 at full speed: each of the two rounds takes four times as long.
    assert (result.avg_s, result.drain_s) == (pytest.approx(40), pytest.approx(80))
    assert result.slowed_shares == {BYTES: pytest.approx(1)}
    assert result.peak_requests_per_s == pytest.approx(25)


def test_a_limit_that_nobody_reaches_slows_nobody():
    result = course(200, 100, [Limit(BYTES, [100.0])], {BYTES: 1.0})
    assert (result.avg_s, result.drain_s, result.slowed_shares, result.peak_requests_per_s) == (10, 20, {BYTES: 0}, 100)


def test_a_limit_that_nothing_is_taken_of_counts_for_nothing():
    result = course(20, 10, [Limit(BYTES, [0.1]), Limit(REQUESTS, [5.0])], {REQUESTS: 1.0})
    assert result.slowed_shares == {REQUESTS: pytest.approx(1)}
    assert result.avg_s == pytest.approx(20)


def test_a_capacity_that_doubles_is_twice_as_much_from_then_on():
    result = course(10, 10, [Limit(REQUESTS, [5.0, 10.0], [0.0, 8.0])], {REQUESTS: 1.0})
    # Half speed for 8 s are 4 of the 10 s, and 6 more at full speed.
    assert result.drain_s == pytest.approx(14)
    assert result.slowed_shares == {REQUESTS: pytest.approx(8 / 14)}
    assert result.peak_requests_per_s == 10


def test_the_limit_that_binds_is_named_for_as_long_as_it_does():
    result = course(
        10, 10, [Limit(BYTES, [2.5, 40.0], [0.0, 10.0]), Limit(REQUESTS, [5.0])], {BYTES: 1.0, REQUESTS: 1.0}
    )
    # A quarter of the speed for 10 s, then half of it for the 7.5 s that are left.
    assert result.drain_s == pytest.approx(10 + 7.5 / 0.5)
    assert result.slowed_shares == {BYTES: pytest.approx(10 / 25), REQUESTS: pytest.approx(15 / 25)}


def test_what_begins_later_shares_with_what_runs_already():
    result = course(2, 2, [Limit(REQUESTS, [1.0])], {REQUESTS: 1.0}, messages_per_s=0.25)
    # The first has done 4 s when the second comes; at half speed its other 6 take 12, and the second then has 4 to do.
    assert (result.min_s, result.max_s, result.drain_s) == (pytest.approx(16), pytest.approx(16), pytest.approx(20))


def test_every_environment_idles_between_messages_without_taking_of_a_limit():
    result = course(4, 2, [Limit(REQUESTS, [1.0])], {REQUESTS: 1.0}, seconds=1, hand_over_s=0.5)
    assert result.drain_s == pytest.approx(2 + 0.5 + 2)
    assert result.slowed_shares[REQUESTS] == pytest.approx(1)


def counted_down(own_s, workers, rooms):
    """The end of each by counting down what is left of all that run, without virtual time: the plain way."""
    waiting, left, now, ends = list(range(len(own_s))), {}, 0.0, []
    while waiting or left:
        while waiting and len(left) < workers:
            index = waiting.pop(0)
            left[index] = own_s[index]
        room, until = next(pair for pair in rooms if pair[1] > now)
        rate = min(1.0, room / len(left))
        step = min(min(left.values()) / rate, until - now)
        now += step
        left = {index: seconds - step * rate for index, seconds in left.items()}
        ends += [now for seconds in left.values() if seconds <= 1e-9]
        left = {index: seconds for index, seconds in left.items() if seconds > 1e-9}
    return ends


def test_virtual_time_ends_everything_when_counting_down_would():
    own_s = np.random.default_rng(3).uniform(1, 20, 60).tolist()
    rooms = [(3.0, 20.0), (1.5, 50.0), (6.0, 90.0), (20.0, float("inf"))]

    def draw(random, count, cold):
        return np.array(own_s[:8] if cold else own_s[8:])

    flood = Flood(60, 8, float("inf"), None, timeout_s=1e6, visibility_timeout_s=6e6)
    limit = Limit(REQUESTS, [2 * room for room, _ in rooms], [0.0, *(until for _, until in rooms[:-1])])
    attempts = Engine(flood, Operation(draw, 10, {REQUESTS: 2.0}, 1, ""), Shared([limit], {REQUESTS: 2.0}), 1).run()
    assert attempts.ended_s.tolist() == pytest.approx(counted_down(own_s, 8, rooms))
    assert attempts.ended_s.tolist() == sorted(attempts.ended_s)  # to the last digit: the counting relies on it


def test_an_environment_that_is_idle_at_the_deadline_of_its_last_message_has_nothing_to_be_cut_off():
    result = course(2, 1, [Limit(REQUESTS, [0.5])], {REQUESTS: 1.0}, seconds=2, messages_per_s=0.1, timeout_s=5)
    assert (result.succeeded, result.failed_attempts, result.most_at_once, result.drain_s) == (2, 0, 1, 14)


@pytest.mark.parametrize(
    "wrong", [([0.0],), ([1.0, 2.0],), ([1.0, 2.0], [0.0, 0.0]), ([1.0], [5.0]), ([-1.0],), ([],), ([float("nan")],)]
)
def test_a_limit_that_cannot_be_is_refused_by_name(wrong):
    with pytest.raises(ValueError, match="S3's rate: "):
        Limit(REQUESTS, *wrong)


def test_a_demand_on_a_limit_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match=f"demands {REQUESTS}, and there is no such limit"):
        Shared([Limit(BYTES, [1.0])], {REQUESTS: 1.0})
