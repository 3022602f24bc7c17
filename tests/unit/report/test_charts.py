"""The charts of a report, at their smallest and their largest."""

import re
import warnings
import xml.etree.ElementTree as ET

import pytest

from stampede.report import charts
from stampede.report.charts import Box, Chart, Curve, Line, Mark, Panel, Ratio

HOSTILE = '<script>alert(1)</script> $x$ & "#0072b2" font-size: 9px;'


def line_of(count: int, label: str = "line") -> Chart:
    marks = {x: Mark(x * 1.5, x, x * 2.0) for x in range(1, count + 1)}
    lines = [Line(f"{label} {at}", marks, ringed=[1]) for at in range(count)]
    return charts.line("line", label, "words", lines, "N", "seconds")


def box_of(count: int, label: str = "box") -> Chart:
    boxes = [Box(f"{label} {at}", at, at + 1, at + 2, at + 3, at + 4) for at in range(count)]
    return charts.box("box", label, "words", boxes, "seconds")


def forest_of(count: int, label: str = "ratio") -> Chart:
    ratios = [Ratio(f"{label} {at}", 1 + at, 0.5 + at, 2 + at) for at in range(count)]
    return charts.forest("forest", label, "words", ratios, "ratio")


def timeline_of(count: int, label: str = "panel") -> Chart:
    curves = [Curve("running", [0, 1, 3], [0, 2, 0], is_filled=True), Curve(label, [0, 3], [1, 2])]
    panels = [Panel(f"{label} {at}", curves, limit=at, span_s=4) for at in range(count)]
    return charts.timeline("timeline", label, "words", panels, "seconds", "functions")


MOST = {line_of: charts.MOST_LINES, box_of: charts.MOST_ROWS, forest_of: charts.MOST_ROWS}
MOST |= {timeline_of: charts.MOST_PANELS}


@pytest.fixture(autouse=True)
def strictly():
    """Warnings of matplotlib are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize("draw", MOST)
def test_a_chart_draws_what_fits_and_the_same_figures_give_the_same_bytes(draw):
    first, second = draw(50), draw(50)
    assert first.svg == second.svg
    # before and after an SVG was drawn
    assert first.png.startswith(b"\x89PNG") and first.png == draw(50).png
    numbers = re.findall(r">(?:line|box|ratio|panel) (\d+)<", first.svg)
    assert max(map(int, numbers)) == MOST[draw] - 1


@pytest.mark.parametrize("draw", MOST)
def test_a_hostile_label_is_literal_text_ids_have_the_name_and_colours_are_variables(draw):
    chart = draw(1, HOSTILE)
    page = str(chart.inlined)
    assert "<script" not in page
    assert set(HOSTILE.split()) <= set(" ".join(ET.fromstring(page).itertext()).split())
    page = str(draw(2).inlined)
    ids = re.findall(r'\bid="([^"]*)"', page)
    assert len(ids) == len(set(ids)) and all(at.startswith(f"{chart.name}-") for at in ids)
    assert set(re.findall(r'(?:href="#|url\(#)([^")]*)', page)) <= set(ids)
    assert not re.search(r"#[0-9a-f]{6}\b(?!-)", re.sub(r'(?:id|href)="[^"]*"', "", page))
    used = set(re.findall(r"var\((--(?!figure-text)[^,)]*)", page))
    assert used <= set(re.findall(r"(--[^:]*): #", charts.css_variables()))


def test_a_single_mark_of_0_is_a_chart_also_on_a_logarithmic_axis():
    options = {"is_log_up": True, "is_proportion": True, "level": 1}
    svg = charts.line(
        "n", "t", "w", [Line("a", {1e6: Mark(0)}), Line("none", {})], "size", "s", **options
    ).svg
    assert "none<" not in svg


def test_a_marker_without_an_interval_is_hollow():
    marks = {1: Mark(1, 0.9, 1.1), 2: Mark(2)}
    ratios = [Ratio("a", 1, 0.9, 1.1), Ratio("b", 2, None, None)]
    of_lines = charts.line("n", "t", "w", [Line("a", marks)], "N", "s").figure
    for figure in (of_lines, charts.forest("n", "t", "w", ratios, "ratio").figure):
        [axes] = figure.axes
        markers = [line for line in axes.lines if line.get_marker() == "D"]
        markers.sort(key=lambda line: line.get_zorder())  # the last is on top
        faces = {x: line.get_markerfacecolor() for line in markers for x in line.get_xdata()}
        assert faces == {1: "#0072b2", 2: "#ffffff"}
