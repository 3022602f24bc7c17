"""What the measurements of the copy are made of: a run counts only if every object is there, and none failed."""

import pytest

from bench import copy_clients, copy_memory, copy_rate, download
from bench.errors import BenchError
from bench.front import front


@pytest.fixture(scope="module")
def place():
    with front() as store, download.place(store.url) as made:
        copy_clients.put_master(made)
        yield made, store


@pytest.mark.parametrize(
    "client", [lambda made: copy_clients.ours(made, 23, 4), lambda made: copy_clients.boto3(made, 23)]
)
def test_a_client_copies_the_list_with_as_many_calls_and_its_cpu_is_given_per_call(place, client):
    made, store = place
    before = store.status()["requests"].get("copy", 0)
    figures = client(made).run()
    assert store.status()["requests"]["copy"] - before == 23
    assert figures["cpu_ms"] == pytest.approx(figures["cpu_s"] * 1000 / 23)
    assert figures["calls_per_s"] == pytest.approx(23 / figures["wall_s"])


def test_a_client_that_leaves_objects_out_is_no_measurement(place):
    idle = copy_clients._side(place[0], "idle", 3, lambda prefix, rows: ["true"], lambda destination: destination)
    with pytest.raises(BenchError, match=r"^idle: 0 of 3 objects exist: this run can't be compared$"):
        idle.run()


def test_a_run_gives_the_rate_of_each_worker_the_slowest_first_and_none_may_fail(place, monkeypatch):
    rates = copy_rate._rates(place[0], 20, 2, parallel=10, seconds=1)
    assert len(rates) == 2
    assert 0 < rates[0] <= rates[1]
    monkeypatch.setattr(copy_clients, "SOURCE", "nothing")
    with pytest.raises(BenchError, match="16 rows weren't copied"):
        copy_rate._rates(place[0], 1, 1, parallel=10, seconds=1)


def test_slow_downs_count_from_ten_seconds_after_the_load_began():
    def second(t_s, accepted, slow_downs):
        return {"t_s": t_s, "accepted": accepted, "slow_downs": slow_downs}

    # The master's PUT, then a pause, then load: refused while it settles, and 1 of 100 afterwards.
    seconds = [second(0, 1, 0), *(second(t_s, 10, 50) for t_s in range(4, 14)), second(14, 50, 0), second(15, 49, 1)]
    assert copy_rate.settled_slow_downs({"writes": {"stampede-bench/": {"by_second": seconds}}}) == 0.01


def test_memory_is_stated_only_for_a_copy_of_every_object(monkeypatch):
    assert 1 < copy_memory.copied(50)["peak_mb"] < 200
    monkeypatch.setattr(copy_clients, "put_master", lambda made: None)
    with pytest.raises(BenchError):
        copy_memory.copied(3)


def test_destinations_are_keys_of_their_own_five_a_folder():
    keys = list(copy_clients.destinations("copies/0/", 100_000))
    assert len(set(keys)) == 100_000
    assert len({key.rpartition("/")[0] for key in keys}) == 20_000
