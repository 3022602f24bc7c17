"""Achieved overlap, against intervals by hand and against counting millisecond by millisecond."""

from hypothesis import given
from hypothesis import strategies as st

from report.overlap import achieved, timeline


def test_three_staggered_downloads_by_hand():
    #  0    10    20    30    40
    #  |-----------|
    #        |-----------|
    #              |-----------|      the first ends as the third starts
    found = achieved([(0, 20), (10, 30), (20, 40)], n=2)
    assert found.most_at_once == 2
    assert found.window_ms == 40
    assert found.at_full_ms == 20
    assert found.share_at_full == 0.5
    assert found.mean_at_once == 1.5


def test_downloads_one_after_the_other_never_overlap():
    assert achieved([(0, 10), (10, 20), (20, 30)], n=2).most_at_once == 1


def test_idle_time_between_downloads_counts_against_full_n():
    assert achieved([(0, 10), (30, 40)], n=1).share_at_full == 0.5


def test_more_than_n_counts_as_full():
    assert achieved([(0, 10), (0, 10), (0, 10)], n=2).share_at_full == 1.0


def test_records_without_duration_cover_no_time():
    assert achieved([(5, 5), (9, 3)], n=1) is None


def test_no_records_have_no_overlap():
    assert achieved([], n=5) is None


def test_a_timeline_has_one_step_a_change_and_ends_at_zero():
    assert timeline([(0, 10), (10, 20), (5, 8)]) == [(0, 1), (5, 2), (8, 1), (20, 0)]


INTERVALS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 30)).map(lambda pair: (pair[0], pair[0] + pair[1])), min_size=1
)


@given(INTERVALS, st.integers(1, 5))
def test_the_sweep_line_agrees_with_counting_every_millisecond(intervals, n):
    start, end = min(start for start, _ in intervals), max(end for _, end in intervals)
    counts = [sum(a <= at < b for a, b in intervals) for at in range(start, end)]
    found = achieved(intervals, n)
    assert found.most_at_once == max(counts)
    assert found.at_full_ms == sum(count >= n for count in counts)
    assert found.window_ms == len(counts)
    assert abs(found.mean_at_once - sum(counts) / len(counts)) < 1e-9
