"""The pictures: the same bytes every time, drawn from the numbers, none without something to draw."""

import copy
import re
from itertools import pairwise

import pytest
from matplotlib.figure import Figure

from experiments.download.declaration import DOWNLOAD
from stampede import report
from stampede.report import statistics
from stampede.report.figures import drawing
from stampede.report.figures.aggregate_throughput import AggregateThroughput
from stampede.report.figures.cold_starts import ColdStarts
from stampede.report.figures.overlap_timeline import MOST_PANELS, OverlapTimeline
from stampede.report.figures.seconds import Seconds
from stampede.report.figures.subject import Subject
from stampede.report.figures.throughput_per_function import ThroughputPerFunction
from stampede.report.run import load
from tests.unit.report.handmade_run import key

pytestmark = pytest.mark.usefixtures("drawn")


@pytest.fixture(scope="module")
def numbers(built_run):
    return statistics.statistics(load(built_run()))


@pytest.fixture(scope="module")
def plain(numbers):
    return Subject.of(DOWNLOAD, numbers)


def changed(numbers, **parts):
    """The same numbers with other parts."""
    return Subject.of(DOWNLOAD, numbers | parts)


def labels(figure: Figure) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", drawing.svg(figure))


def test_every_picture_is_the_same_bytes_every_time(make_run, built_run):
    again = make_run("synthetic-1")
    report.build(again)
    names = ["aggregate_throughput", "overlap_timeline", "seconds", "throughput_per_function"]
    for name in names:
        first, second = ((folder / f"figures/{name}.svg").read_bytes() for folder in (built_run(), again))
        assert first == second
        assert b"<dc:date>" not in first


def test_every_box_is_drawn_and_named(plain):
    svg = Seconds(plain, {}).svg
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
    assert [label for label in texts if label.startswith("N = ")] == ["N = 1", "N = 5", "N = 10"]
    assert [label for label in texts if label.endswith(" MB")] == ["1,024 MB", "2,048 MB"]
    assert len(re.findall(r"fill: #[0-9a-f]{6}; fill-opacity: 0\.22", svg)) == 6


def test_no_box_reaches_out_of_the_picture(plain, numbers):
    for content in (plain, changed(numbers, cells=many(numbers, 6))):
        for axes in Seconds(content, {}).figure.axes:
            assert max(max(line.get_ydata(), default=0) for line in axes.lines) <= axes.get_ylim()[1]


def test_a_cell_with_few_downloads_shows_each_of_them(plain):
    few = {key(1024, 1): [0.2, 0.21, 0.25]}
    with_dots, without = (Seconds(plain, times).svg for times in (few, {}))
    assert with_dots.count("<use ") == without.count("<use ") + 3


def test_the_ideal_is_flat_for_one_function_and_in_proportion_to_n_for_all(plain):
    per_function = ThroughputPerFunction(plain, {}).figure.axes[0]
    dashed = [line.get_ydata() for line in per_function.lines if line.get_linestyle() == "--"]
    assert [len(set(line)) for line in dashed] == [1, 1]
    aggregate = AggregateThroughput(plain).figure.axes[0]
    for line in (line for line in aggregate.lines if line.get_linestyle() == "--"):
        base = line.get_ydata()[0]
        assert list(line.get_ydata()) == pytest.approx([base, 5 * base, 10 * base])


def test_a_speed_without_an_interval_has_a_hollow_marker_and_no_bar(numbers):
    cells = copy.deepcopy(numbers["cells"])
    shown = next(cell["mbit_per_s"] for cell in cells if cell["mbit_per_s"]["per_function_interval"])
    shown["per_function_interval"] = None
    before, after = (
        ThroughputPerFunction(content, {}).figure.axes[0]
        for content in (changed(numbers), changed(numbers, cells=cells))
    )
    assert len(after.lines) == len(before.lines) - 3
    hollow = [[line.get_markerfacecolor() for line in axes.lines].count(drawing.PAPER) for axes in (before, after)]
    assert hollow[1] == hollow[0] + 1


def test_the_published_line_is_drawn_only_for_the_published_object_on_aws(built_run):
    local, aws = built_run(), built_run(target="aws", object_bytes=1024**3)
    for folder, beside in ((local, False), (aws, True)):
        svg = (folder / "figures" / "throughput_per_function.svg").read_text()
        assert ("AWS, published 2025" in svg) is beside


def many(numbers, count):
    """The cells of one memory size under several names."""
    alike = [cell for cell in numbers["cells"] if cell["memory_size_mb"] == 1024]
    return [cell | {"memory_size_mb": 128 * step} for step in range(1, count + 1) for cell in alike]


@pytest.mark.parametrize("count", [2, 12])
def test_many_series_are_small_multiples_with_their_names_on_them(numbers, count):
    of_many = changed(numbers, cells=many(numbers, count))
    for figure in (ThroughputPerFunction(of_many, {}).figure, AggregateThroughput(of_many).figure):
        shown = [axes for axes in figure.axes if axes.axison]
        assert len(shown) == (1 if count == 2 else count)
        assert {label for label in labels(figure) if label.endswith(" MB")} == {
            f"{128 * step:,} MB" for step in range(1, count + 1)
        }
        assert len({axes.get_ylim() for axes in shown}) == 1  # all on one scale, and nothing beyond it
        assert all(line.get_ydata().max() <= axes.get_ylim()[1] for axes in shown for line in axes.lines)


def test_at_one_n_series_are_ranked_with_their_figures(numbers):
    of_one_n = changed(numbers, cells=[cell for cell in numbers["cells"] if cell["concurrency"] == 10])
    texts = labels(ThroughputPerFunction(of_one_n, {}).figure)
    assert [label for label in texts if label.endswith(" MB")] == ["2,048 MB", "1,024 MB"]  # as fast as they are
    assert "815" in texts and "807" in texts
    boxes = labels(Seconds(of_one_n, {}).figure)
    assert [label for label in boxes if label.endswith(" MB")] == ["2,048 MB", "1,024 MB"]
    assert AggregateThroughput(of_one_n).figure is None


def test_what_all_series_have_in_common_is_in_no_label(built_run):
    folder = built_run(memories=(1024,), concurrencies=(1, 5), methods=("download_file", "stream"))
    svg = (folder / "figures" / "throughput_per_function.svg").read_text()
    assert ">stream</text>" in svg
    assert "1,024 MB" not in svg
    assert "Throughput per function against N (1,024 MB)" in (folder / "report.html").read_text()


def test_the_full_overlap_window_is_shaded_where_n_was_reached_only(numbers):
    cells = copy.deepcopy(numbers["cells"])
    cells[0]["repeats"][0]["parallelism"]["window"] = None
    with_window, without = (
        OverlapTimeline(content).figure.axes[0] for content in (changed(numbers), changed(numbers, cells=cells))
    )
    assert len(with_window.patches) == len(without.patches) + 1


def test_every_cell_has_its_timeline(plain):
    panels = [label for label in labels(OverlapTimeline(plain).figure) if "MB, N = " in label]
    assert sorted(panels) == sorted(f"{m:,} MB, N = {n}" for m in (1024, 2048) for n in (1, 5, 10))
    assert OverlapTimeline(plain).left_out() == 0


def test_timelines_beyond_the_room_are_counted(numbers):
    cells = [cell | {"concurrency": n} for n in range(1, 31) for cell in (numbers["cells"][0], numbers["cells"][3])]
    assert OverlapTimeline(changed(numbers, cells=cells)).left_out() == 60 - MOST_PANELS


def test_cold_starts_are_drawn_where_they_are_measurable(built_run):
    folder = built_run(concurrencies=(1, 20))
    svg = (folder / "figures" / "cold_starts.svg").read_text()
    assert [label for label in re.findall(r">([^<]*)</text>", svg) if "MB, N" in label] == [
        "1,024 MB, N = 20",
        "2,048 MB, N = 20",
    ]


def test_nothing_is_drawn_without_records(built_run):
    nothing = Subject.of(DOWNLOAD, statistics.statistics(load(built_run(lost=set(range(100))))))
    assert Seconds(nothing, {}).figure is None
    assert ThroughputPerFunction(nothing, {}).figure is None
    assert AggregateThroughput(nothing).figure is None
    assert OverlapTimeline(nothing).figure is None
    assert ColdStarts(nothing).figure is None


def test_cells_to_which_no_byte_came_have_no_aggregate_to_draw(numbers):
    empty = [cell | {"parallelism": cell["parallelism"] | {"mbit_per_s": 0.0}} for cell in numbers["cells"]]
    assert AggregateThroughput(changed(numbers, cells=empty)).figure is None


def test_more_series_than_colours_still_draw(numbers):
    of_many = changed(numbers, cells=many(numbers, 8))
    assert Seconds(of_many, {}).svg.count("fill-opacity: 0.22") == 24
    assert len(OverlapTimeline(of_many).figure.axes) == 24


def test_an_inlined_picture_follows_the_colours_of_the_page(plain):
    inlined = drawing.inline(Seconds(plain, {}).svg, "one", "T", "W")
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
