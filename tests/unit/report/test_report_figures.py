"""The pictures: the same bytes every time, drawn from the numbers, none without something to draw."""

import copy
import re
from itertools import pairwise

import pytest
from matplotlib.figure import Figure

from report import figures, statistics
from report.figures import (
    aggregate_throughput,
    cold_starts,
    download_seconds,
    drawing,
    overlap_timeline,
    throughput_per_function,
)
from report.run import load
from report.ways import Key


@pytest.fixture(scope="module")
def numbers(built_run):
    return statistics.statistics(load(built_run()))


def labels(figure: Figure) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", drawing.svg(figure))


def test_every_picture_is_the_same_bytes_every_time(built_run, numbers):
    run = load(built_run())
    first, second = figures.draw_all(run, numbers), figures.draw_all(run, numbers)
    assert first == second
    assert "<dc:date>" not in first["download_seconds"].svg
    assert (built_run() / "figures" / "overlap_timeline.png").read_bytes() == first["overlap_timeline"].png


def test_every_box_is_drawn_and_named(numbers):
    svg = drawing.svg(download_seconds.draw(numbers, {}))
    found = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
    assert [label for label in found if label.startswith("N = ")] == ["N = 1", "N = 5", "N = 10"]
    assert [label for label in found if label.endswith(" MB")] == ["1024 MB", "2048 MB"]
    assert len(re.findall(r"fill: #[0-9a-f]{6}; fill-opacity: 0\.22", svg)) == 6


def test_a_cell_with_few_downloads_shows_each_of_them(numbers):
    few = {Key(1024, 1): [0.2, 0.21, 0.25]}
    with_dots, without = (drawing.svg(download_seconds.draw(numbers, times)) for times in (few, {}))
    assert with_dots.count("<use ") == without.count("<use ") + 3


def test_the_ideal_is_flat_for_one_function_and_in_proportion_to_n_for_all(numbers):
    one = throughput_per_function.draw(numbers, beside_published=False).axes[0]
    dashed = [line.get_ydata() for line in one.lines if line.get_linestyle() == "--"]
    assert [len(set(line)) for line in dashed] == [1, 1]
    every = aggregate_throughput.draw(numbers).axes[0]
    for line in (line for line in every.lines if line.get_linestyle() == "--"):
        base = line.get_ydata()[0]
        assert list(line.get_ydata()) == pytest.approx([base, 5 * base, 10 * base])


def test_a_speed_without_an_interval_has_a_hollow_marker_and_no_bar(numbers):
    changed = copy.deepcopy(numbers)
    changed["cells"][0]["mbit_per_s"]["per_function_interval"] = None
    before, after = (throughput_per_function.draw(one, beside_published=False).axes[0] for one in (numbers, changed))
    assert len(after.lines) == len(before.lines) - 3
    assert [line.get_markerfacecolor() for line in after.lines].count(drawing.PAPER) == 1


def test_the_published_line_is_drawn_only_for_the_published_object_on_aws(built_run):
    local, aws = built_run(), built_run(target="aws", object_bytes=1024**3)
    for folder, beside in ((local, False), (aws, True)):
        svg = (folder / "figures" / "throughput_per_function.svg").read_text()
        assert ("AWS, published 2025" in svg) is beside


def test_the_full_overlap_window_is_shaded_where_n_was_reached_only(numbers):
    changed = copy.deepcopy(numbers)
    changed["cells"][0]["repeats"][0]["parallelism"]["window"] = None
    with_window, without = (overlap_timeline.draw(one).axes[0] for one in (numbers, changed))
    assert len(with_window.patches) == len(without.patches) + 1


def test_every_cell_has_its_timeline(numbers):
    panels = [label for label in labels(overlap_timeline.draw(numbers)) if "MB, N = " in label]
    assert sorted(panels) == sorted(f"{m} MB, N = {n}" for m in (1024, 2048) for n in (1, 5, 10))
    assert overlap_timeline.left_out(numbers) == 0


def test_timelines_beyond_the_room_are_counted(numbers):
    changed = copy.deepcopy(numbers)
    changed["cells"] = [
        cell | {"concurrency": n} for n in range(1, 31) for cell in (numbers["cells"][0], numbers["cells"][3])
    ]
    assert overlap_timeline.left_out(changed) == 60 - overlap_timeline.MOST_PANELS


def test_cold_starts_are_drawn_where_they_can_be_told(built_run):
    folder = built_run(concurrencies=(1, 20))
    svg = (folder / "figures" / "cold_starts.svg").read_text()
    assert [label for label in re.findall(r">([^<]*)</text>", svg) if "MB, N" in label] == [
        "1024 MB, N = 20",
        "2048 MB, N = 20",
    ]


def test_nothing_is_drawn_without_records(built_run):
    nothing = statistics.statistics(load(built_run(lost=set(range(100)))))
    assert download_seconds.draw(nothing, {}) is None
    assert throughput_per_function.draw(nothing, beside_published=True) is None
    assert aggregate_throughput.draw(nothing) is None
    assert overlap_timeline.draw(nothing) is None
    assert cold_starts.draw(nothing) is None


def test_more_memory_sizes_than_colours_still_draw(numbers):
    changed = copy.deepcopy(numbers)
    changed["cells"] = [numbers["cells"][0] | {"memory_size_mb": 128 * step} for step in range(1, 9)]
    assert drawing.svg(download_seconds.draw(changed, {})).count("fill-opacity: 0.22") == 8
    assert len(overlap_timeline.draw(changed).axes) == 8


def test_an_inlined_picture_follows_the_colours_of_the_page(numbers):
    inlined = drawing.inline(drawing.svg(download_seconds.draw(numbers, {})), "one", "T", "W")
    assert re.findall(r"#[0-9a-f]{6}\b", inlined) == []
    assert "var(--series-1)" in inlined
    assert "<!DOCTYPE" not in inlined
    assert "<metadata" not in inlined


@pytest.mark.parametrize("ns", [[7], [1, 2], [1, 5, 10, 50, 100, 500], list(range(1, 40))])
def test_values_of_n_are_labelled_without_running_into_each_other(ns):
    figure, axes = drawing.plot()
    drawing.n_axis(axes, ns)
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in axes.get_xticklabels() if text.get_text()]
    assert boxes
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))
