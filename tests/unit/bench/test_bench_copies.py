"""What the measurements of the copy are made of: a run counts only if every object is there, and none failed."""

import pytest

from bench import copies
from bench.errors import BenchError
from bench.servers import front, place


@pytest.fixture(scope="module")
def store():
    with front() as store, place(store.url) as made:
        copies.put_master(made)
        yield made, store


@pytest.mark.parametrize("client", [copies.transfer_costs, copies.boto3_costs])
def test_a_client_copies_the_list_with_as_many_calls(store, client):
    made, counting = store
    before = counting.status()["requests"].get("copy", 0)
    figures = client(made, 23)
    assert counting.status()["requests"]["copy"] - before == 23
    assert figures["cpu_ms_per_call"] > 0 and figures["calls_per_s"] > 0


def test_a_client_that_leaves_objects_out_is_no_measurement(store):
    with pytest.raises(BenchError, match=r"^0 of 3 objects exist: this run can't be compared$"):
        copies.call_costs(store[0], 3, lambda prefix, rows: {"cpu_s": 1.0, "wall_s": 1.0, "peak_mb": 1.0})


def test_a_run_gives_the_rate_of_each_worker_the_slowest_first_and_none_may_fail(store, monkeypatch):
    rates = copies._paced(store[0], 20, 2, 10, 1)
    assert len(rates) == 2
    assert 0 < rates[0] <= rates[1]
    monkeypatch.setattr(copies, "SOURCE", "nothing")
    monkeypatch.setattr(copies, "put_master", lambda place: None)
    with pytest.raises(BenchError, match="16 rows weren't copied"):
        copies._paced(store[0], 1, 1, 10, 1)


def test_slow_downs_count_from_ten_seconds_after_the_load_began():
    def second(t_s, accepted, slow_downs):
        return {"t_s": t_s, "accepted": accepted, "slow_downs": slow_downs}

    # The master's PUT, then a pause, then load: refused while it settles, and 1 of 100 afterwards.
    seconds = [second(0, 1, 0), *(second(t_s, 10, 50) for t_s in range(4, 14)), second(14, 50, 0), second(15, 49, 1)]
    assert copies.settled_slow_downs({"writes": {"stampede-bench": {"by_second": seconds}}}) == 0.01


@pytest.mark.parametrize(
    ("rates", "slow_downs", "missed"),
    [([3400.0], 0.01, False), ([3400.0], 0.03, True), ([600.0, 1166.0, 1600.0], 0.0, True)],
)
def test_a_worker_far_from_its_share_and_too_many_refusals_are_said_and_the_slowest_is_compared(
    store, monkeypatch, rates, slow_downs, missed
):
    monkeypatch.setattr(copies, "_paced", lambda *_: rates)
    monkeypatch.setattr(copies, "settled_slow_downs", lambda status: slow_downs)
    [entry], setting = copies.adaptive("copy", len(rates), 2)
    assert entry.ratio == pytest.approx(rates[0] * len(rates) / 3500)
    assert ("MISSED" in setting) is missed


def test_jain_is_1_where_all_have_the_same_and_less_where_not():
    assert copies.jain([5.0, 5.0]) == 1
    assert copies.jain([1.0, 3.0]) == pytest.approx(0.8)
