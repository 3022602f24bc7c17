"""How many really ran at once: shapes counted by hand, and what must hold for any shape."""

import json
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.filesystem.declaration import FILESYSTEM
from stampede.planning.demand import demands
from stampede.planning.plan import make_plan
from stampede.report import load, statistics
from stampede.report.columns import count
from stampede.report.statistics import parallelism, timeline
from stampede.report.statistics.selection import CellRecords
from stampede.runs.overlap import timeline as sweep_line
from tests.contract import synthetic
from tests.unit.report.handmade_run import MEGABYTE, ORIGIN_MS, columns, error, key, record


def cell(n, downloads, errors=(), duplicates=()):
    return CellRecords(key(1024, n), *columns(list(downloads), list(duplicates), list(errors), [], []))


def steps_of(times):
    return sweep_line(*np.array(times).T)


def measured(n, downloads, **options):
    measurement = parallelism.measure(cell(n, downloads, **options))
    return measurement, parallelism.combined([[measurement]] if measurement else [])


def test_two_that_start_and_end_together_are_at_full_n_all_the_time():
    measurement, figures = measured(2, [record(0, 1000, n=2), record(0, 1000, n=2, seq=1)])
    assert figures["share_of_span_at_full"] == figures["share_of_download_time_at_full"] == 1
    assert figures["share_of_each_download_at_full"]["entirely"] == 2
    assert figures["time_to_full_ms"] == 0
    assert figures["ramp"] == "all 2 started at once"
    assert figures["mean_at_once"] == 2
    assert figures["mbit_per_s"] == figures["window"]["mbit_per_s"] == pytest.approx(16)
    assert count(measurement.inside) == 2


def test_a_ramp_takes_time_and_leaves_the_early_download_outside_the_window():
    #  0 ----------- 1000           full from 400 to 1000 and from 1100 to 1400
    #      400 -------------- 1400
    #                  1100 -- 1500
    measurement, figures = measured(
        2, [record(0, 1000, n=2), record(400, 1400, n=2, seq=1), record(1100, 1500, n=2, seq=2)]
    )
    assert figures["time_to_full_ms"] == 400
    assert figures["ramp"] == "all 2 ran 0.4 s after the first start"
    assert measurement.window_ms == (400, 1400)
    assert (measurement.inside["started_at_ms"] - ORIGIN_MS).tolist() == [400]
    assert figures["at_full_ms"] == 900
    assert figures["share_of_span_at_full"] == 0.6
    assert measurement.shares == pytest.approx([0.6, 0.9, 0.75])
    assert figures["share_of_download_time_at_full"] == pytest.approx((600 + 900 + 300) / 2400)
    assert figures["mean_at_once"] == pytest.approx(2400 / 1500)
    assert figures["window"]["mean_at_once"] == pytest.approx(1.9)
    assert figures["window"]["length_ms"] == 1000
    # 0.6, 1 and 0.75 MB arrive in the second of the window.
    assert figures["window"]["mbit_per_s"] == pytest.approx(2.35 * 8)
    assert figures["mbit_per_s"] == pytest.approx(3 * 8 / 1.5)


def test_an_n_that_is_never_reached_is_said_in_words():
    _, figures = measured(10, [record(0, 1000, n=10, seq=seq) for seq in range(7)])
    assert figures["ramp"] == "never: the peak concurrency was 7 of 10"
    assert figures["time_to_full_ms"] is None
    assert figures["window"] is None
    assert figures["share_of_download_time_at_full"] == 0
    assert figures["share_of_each_download_at_full"]["entirely"] == 0


def test_nine_of_ten_are_nearly_full():
    _, figures = measured(10, [record(0, 1000, n=10, seq=seq) for seq in range(9)])
    assert figures["share_of_download_time_at_full"] == 0
    assert figures["share_of_download_time_nearly_full"] == 1


def test_failed_and_duplicate_attempts_occupy_functions_and_move_bytes_but_have_no_share():
    failed = [error(0, 1000, n=3, seq=1, bytes=MEGABYTE // 2)]
    _, figures = measured(3, [record(0, 1000, n=3)], errors=failed, duplicates=[record(0, 1000, n=3)])
    assert figures["attempts"] == 3
    assert figures["share_of_download_time_at_full"] == 1
    assert figures["share_of_each_download_at_full"]["count"] == 1
    assert figures["mbit_per_s"] == pytest.approx(2.5 * 8)


def test_repeats_are_counted_apart_and_then_summed():
    together = parallelism.measure(cell(2, [record(0, 1000, n=2), record(0, 1000, n=2, seq=1)]))
    apart = parallelism.measure(cell(2, [record(0, 1000, n=2), record(1000, 4000, n=2, seq=1)]))
    figures = parallelism.combined([[together], [apart]])
    assert figures["repeats"] == 2
    assert figures["reached_full"] == 1
    assert figures["most_at_once"] == 2
    assert figures["span_ms"] == 5000
    assert figures["share_of_span_at_full"] == 0.2
    assert figures["share_of_download_time_at_full"] == pytest.approx(2000 / 6000)
    assert figures["ramp"] == "all 2 started at once, in 1 of 2 repeats"
    assert figures["mbit_per_s"] == pytest.approx(4 * 8 / 5)
    assert figures["window"]["length_ms"] == 1000


def test_records_without_usable_times_are_left_out_and_counted():
    odd = [
        record(0, 10, seq=1, started_at_ms=None),
        record(5, 5, seq=2),
        record(0, 1, seq=3, finished_at_ms=1e9),
        record(0, 1, seq=4, finished_at_ms=True),
        record(0, 1, seq=5, finished_at_ms=10**400),
    ]
    measurement, figures = measured(1, [record(0, 10), *odd])
    assert (figures["attempts"], figures["left_out"]) == (1, 5)
    assert measurement.span_ms == 10
    assert measured(1, odd) == (None, None)


def test_a_download_of_unknown_size_leaves_the_bandwidth_unknown():
    _, figures = measured(1, [record(0, 10), record(10, 20, seq=1, bytes=None)])
    assert figures["mbit_per_s"] is None
    assert figures["window"]["mbit_per_s"] is None


def test_a_repeat_says_when_it_began_and_times_are_relative_to_that():
    measurement, _ = measured(1, [record(50, 60), record(70, 90, seq=1)])
    figures = parallelism.repeat_figures([measurement])
    assert figures["started_at_ms"] == ORIGIN_MS + 50
    window = {"from_ms": 0, "to_ms": 40, "length_ms": 40, "mean_at_once": 0.75, "mbit_per_s": 0}
    assert figures["window"] | {"mbit_per_s": 0} == window
    steps = {"at_ms": [0, 10, 20, 40], "running": [1, 0, 1, 0], "steps": 4, "thinned": False}
    assert figures["timeline"] == steps


intervals = st.lists(
    st.tuples(st.integers(0, 3000), st.integers(1, 500)).map(lambda pair: (pair[0], pair[0] + pair[1])),
    min_size=1,
    max_size=40,
)


@given(intervals, st.integers(1, 6))
def test_whatever_ran_the_figures_stay_within_their_bounds(times, n):
    measurement, figures = measured(n, [record(*pair, n=n, seq=seq) for seq, pair in enumerate(times)])
    assert 1 <= figures["most_at_once"] <= len(times)
    assert 0 < figures["mean_at_once"] <= figures["most_at_once"]
    assert all(0 <= share <= 1 for share in measurement.shares)
    for name in ("share_of_span_at_full", "share_of_download_time_at_full", "share_of_download_time_nearly_full"):
        assert 0 <= figures[name] <= 1
    assert figures["share_of_download_time_at_full"] <= figures["share_of_download_time_nearly_full"]
    # Bandwidth times time gives back the bytes.
    assert figures["mbit_per_s"] * figures["span_ms"] / 1000 == pytest.approx(8 * len(times))
    if figures["most_at_once"] < n:
        assert measurement.window_ms is None and figures["time_to_full_ms"] is None and not count(measurement.inside)
    else:
        start, end = measurement.window_ms
        assert 0 <= start < end <= measurement.span_ms
        assert figures["at_full_ms"] <= end - start
        inside = figures["window"]["mbit_per_s"] * (end - start) / 1000
        assert inside <= 8 * len(times) * (1 + 1e-9)
        assert inside >= 8 * count(measurement.inside) * (1 - 1e-9)


@given(intervals)
def test_with_n_1_the_window_is_the_whole_span_and_holds_every_byte(times):
    measurement, figures = measured(1, [record(*pair, seq=seq) for seq, pair in enumerate(times)])
    assert measurement.window_ms == (0, measurement.span_ms)
    assert measurement.shares.tolist() == [1] * len(times)
    assert count(measurement.inside) == len(times)
    assert figures["window"]["mbit_per_s"] == pytest.approx(figures["mbit_per_s"])


def test_a_timeline_has_one_step_a_change_and_ends_at_zero_and_no_duration_is_no_step():
    at, running = steps_of([(0, 10), (10, 20), (5, 8), (9, 9), (7, 3)])
    assert (at.tolist(), running.tolist()) == ([0, 5, 8, 20], [1, 2, 1, 0])


@pytest.mark.hypothesis
def test_a_thinned_timeline_is_short_and_loses_neither_maximum_nor_ends(seed):
    rng, times, at = random.Random(seed), [], 0
    for _ in range(rng.randrange(401, 3000)):
        at += rng.randrange(1, 30)
        times.append((at, at + rng.randrange(1, 200)))
    at, running = steps_of(times)
    kept = timeline.thinned(at, running)
    assert len(kept) <= timeline.LONGEST < len(at)
    assert (kept[0], kept[-1]) == (0, len(at) - 1)
    assert (np.diff(kept) > 0).all()
    assert running[kept].max() == running.max()


def test_what_ran_in_one_planned_cell_overlaps_whatever_its_records_call_it(tmp_path):
    """Ten functions read the same files, seven for the first time and three again: ten ran at once."""
    settings = ["storage=s3", "dataset=large", "memory_size=1024", "concurrency_value=10"]
    plan = make_plan(FILESYSTEM, "local", settings, messages_per_concurrency=1)
    [demand] = demands(plan)
    reads = ["repeat"] * 3 + ["first"] * 7
    rows = [synthetic.record(FILESYSTEM, demand, seq, read=read, elapsed_seconds=1.0) for seq, read in enumerate(reads)]
    sent = [{name: row[name] for name in ("cell", "seq", "message_id", "warm_up")} for row in rows]
    for name, lines in {"records": rows, "sent": sent}.items():
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lines))
    manifest = {"format": 1, "run_id": "reads", "experiment": "filesystem", "target": "local", "plan": plan.as_dict()}
    (tmp_path / "run.json").write_text(json.dumps(manifest))
    numbers = statistics.statistics(load(tmp_path))
    assert [(cell["read"], cell["count"]) for cell in numbers["cells"]] == [("first", 7), ("repeat", 3)]
    assert [(cell["parallelism"]["most_at_once"], cell["sent"]) for cell in numbers["cells"]] == [(10, 10), (10, 10)]
    assert [cell["inside_window"]["count"] for cell in numbers["cells"]] == [7, 3]
