"""The four kinds of charts in a report: lines, boxes, ratios with intervals, timelines.

Text stays text, the same figures give the same bytes, and a page can change the colours.
"""

import io
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from textwrap import fill

import matplotlib
from markupsafe import Markup, escape
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from stampede.phrases import unbroken
from stampede.standard_streams import plain

# The most that is drawn.
MOST_LINES, MOST_ROWS, MOST_PANELS = 8, 40, 24

_INK, _MUTED, _GRID, _PAPER = "#1c2024", "#60646c", "#dfe1e6", "#ffffff"
# Okabe and Ito's palette, told apart by people with any of the common colour deficiencies. Each
# line also has its own marker, for print in grey and for the lines beyond the last colour.
_SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
_MARKERS = ("D", "o", "s", "^", "v", "P", "X", "p")
# Narrow enough for its text to be legible at 360 px.
_WIDTH_IN = 6.0
_PNG_DPI = 200
_LINE_IN, _PANEL_IN, _TEXT_LINE_IN = 3.2, 1.45, 0.18
# Letters that fit into a row of a legend, beside a line, before a row, above a panel.
_LEGEND_LETTERS, _END_LETTERS, _NAME_LETTERS, _TITLE_LETTERS = 52, 16, 30, 28
_DASHED = {"color": _INK, "linewidth": 1, "linestyle": (0, (4, 3))}
_DOTTED = {"color": _INK, "linewidth": 1, "linestyle": ":"}
_RING = {"markersize": 14, "markeredgewidth": 1.6, "markerfacecolor": "none", "clip_on": False}

_STYLE = {
    "svg.hashsalt": "stampede",  # ids depend on the content alone
    "svg.fonttype": "none",  # text stays text
    "text.parse_math": False,  # a dollar in a name is a dollar
    "font.family": "sans-serif",
    "font.size": 11,
    "axes.edgecolor": _MUTED,
    "axes.labelcolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "text.color": _INK,
    "legend.frameon": False,
    "legend.handlelength": 1.8,
    "legend.columnspacing": 1.4,
    "lines.solid_capstyle": "butt",  # an interval ends where it ends
}
_VARIABLES = {
    "--figure-ink": _INK,
    "--figure-muted": _MUTED,
    "--figure-grid": _GRID,
    "--figure-paper": _PAPER,
} | {f"--series-{at}": colour for at, colour in enumerate(_SERIES)}


@dataclass(frozen=True)
class Mark:
    """A value; drawn hollow without an interval."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Line:
    """Marks by x. The `ringed` x get a ring: the knee, the fastest."""

    label: str
    marks: Mapping[float, Mark]
    ringed: Collection[float] = ()


@dataclass(frozen=True)
class Box:
    """The five numbers of a box plot. `values`, if any, are drawn as dots."""

    label: str
    least: float
    p25: float
    median: float
    p75: float
    most: float
    values: Sequence[float] = ()


@dataclass(frozen=True)
class Ratio:
    """A ratio; drawn hollow without an interval."""

    label: str
    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Curve:
    """Heights over time. With `is_step` each lasts until the next; else they are joined."""

    label: str
    at_s: Sequence[float]
    heights: Sequence[float]
    is_filled: bool = False
    is_step: bool = True


@dataclass(frozen=True)
class Panel:
    """A small plot from 0 to `span_s`, or to its last moment; `limit` is a horizontal line."""

    title: str
    curves: Sequence[Curve]
    limit: float | None = None
    span_s: float | None = None


class Chart:
    """A chart, drawn on first use. `words` are its text alternative."""

    def __init__(self, name: str, title: str, words: str, draw: Callable[[], Figure]) -> None:
        self.name, self.title, self.words = name, title, words
        self._draw = draw

    @cached_property
    def figure(self) -> Figure:
        with matplotlib.rc_context(_STYLE):
            figure = self._draw()
            figure.get_layout_engine().execute(figure)
        figure.set_layout_engine("none")  # layout takes as long as drawing: once is enough
        return figure

    @cached_property
    def svg(self) -> str:
        """A complete document."""
        text = io.StringIO()
        no_metadata = {"Date": None, "Creator": None, "Format": None, "Type": None}
        with matplotlib.rc_context(_STYLE):
            # Figure.savefig would draw everything twice, the first time for the layout.
            FigureCanvasSVG(self.figure).print_svg(text, metadata=no_metadata)
        # Two decimals are a hundredth of a point; six make a long timeline three times as large.
        shorter = r"(\.\d\d)\d+"
        return re.sub(r' d="[^"]*"', lambda path: re.sub(shorter, r"\1", path[0]), text.getvalue())

    @property
    def png(self) -> bytes:
        """For programs that can't show SVG."""
        data = io.BytesIO()
        with matplotlib.rc_context(_STYLE):
            self.figure.set_dpi(_PNG_DPI)
            FigureCanvasAgg(self.figure).print_png(data, metadata={"Software": None})
        return data.getvalue()

    @property
    def inlined(self) -> Markup:
        """For an HTML page, which sets the size, the typeface and the colours of css_variables().
        Every id begins with the chart's name."""
        document = re.sub(r"<defs>\s*<style.*?</defs>", "", self.svg, count=1, flags=re.DOTALL)
        opening, body = document[document.index("<svg") :].split(">", 1)
        view_box = re.search(r'viewBox="[^"]*"', opening)[0]
        # Tag by tag, to leave labels unchanged.
        body = re.sub(r"<[^>]*>", lambda tag: self._inline_tag(tag[0]), body)
        title, words = f"{self.name}-title", f"{self.name}-words"
        return Markup(
            f'<svg role="img" aria-labelledby="{title} {words}" {view_box}>'
            f'<title id="{title}">{escape(self.title)}</title>'
            f'<desc id="{words}">{escape(self.words)}</desc>{body}'
        )

    def _inline_tag(self, tag: str) -> str:
        tag = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", tag)
        tag = re.sub(r"font-family: [^;]*; ", "", tag)
        scaled = r"font-size: calc(\1px * var(--figure-text, 1))"
        tag = re.sub(r"font-size: ([\d.]+)px", scaled, tag)
        tag = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{self.name}-", tag).replace("xlink:", "")
        for variable, colour in _VARIABLES.items():
            tag = tag.replace(colour, f"var({variable})")
        return tag


def css_variables() -> str:
    """CSS declarations of the colours in inlined charts, for light pages."""
    return " ".join(f"{variable}: {colour};" for variable, colour in _VARIABLES.items())


def line(
    name: str,
    title: str,
    words: str,
    lines: Sequence[Line],
    across: str,
    up: str,
    *,
    is_log_up: bool = False,
    x_words: Callable[[float], str] = lambda x: _number(x),
    level: float | None = None,
    is_proportion: bool = False,
) -> Chart:
    """Lines over a logarithmic x axis with a tick at each x, labelled by `x_words`. `level` is a
    horizontal line; `is_proportion` adds a dotted line in proportion to the first mark."""

    def draw() -> Figure:
        figure = Figure(figsize=(_WIDTH_IN, _LINE_IN), layout="constrained")
        axes = figure.add_subplot()
        _plain(axes, "y")
        drawn = [line for line in lines if line.marks][:MOST_LINES]
        xs = sorted({x for line in drawn for x in line.marks})
        _ticks_at(axes, xs, [x_words(x) for x in xs])
        handles = []
        for at, line in enumerate(drawn):
            # Shifted a little, so that markers don't cover each other.
            step = min(0.012, 0.05 / len(drawn))
            beside = max(xs[-1] / xs[0], 2) ** (step * (at - (len(drawn) - 1) / 2))
            handles += _draw_line(axes, line, beside, _colour(at), _MARKERS[at])
        if level is not None:
            axes.axhline(level, color=_INK, linewidth=1)
        proportion = _draw_proportion(axes, drawn, xs[-1]) if is_proportion else []
        _scale_up(axes, is_log_up)
        axes.set_xlabel(across)
        bars = any(mark.low is not None for line in drawn for mark in line.marks.values())
        axes.set_title(up + ", with 95 % intervals" * bars, fontsize=11, loc="left")
        if len(drawn) == 1:  # a single line needs no name
            handles = []
        elif len(drawn) <= 3 and max(len(line.label) for line in drawn) <= _END_LETTERS:
            _label_ends(axes, drawn)
            handles = []
        _legend_above(figure, [*handles, *proportion])
        return figure

    return Chart(name, title, words, draw)


def box(name: str, title: str, words: str, boxes: Sequence[Box], across: str) -> Chart:
    """A box per row, from 0."""

    def draw() -> Figure:
        drawn = boxes[:MOST_ROWS]
        figure, axes = _rows([box.label for box in drawn])
        for at, box in enumerate(drawn):
            _draw_box(axes, box, at)
        axes.set_xlim(0, 1.03 * max(box.most for box in drawn) or 1)
        _even_ticks(axes.xaxis, 5)
        axes.set_xlabel(across)
        return figure

    return Chart(name, title, words, draw)


def forest(name: str, title: str, words: str, ratios: Sequence[Ratio], across: str) -> Chart:
    """A ratio per row, on a logarithmic axis with a line at 1 in a band of less than 10 %."""

    def draw() -> Figure:
        drawn = ratios[:MOST_ROWS]
        figure, axes = _rows([ratio.label for ratio in drawn])
        axes.set_xscale("log")
        axes.axvspan(0.9, 1 / 0.9, color=_MUTED, alpha=0.18, linewidth=0)
        axes.axvline(1, color=_INK, linewidth=1)
        for at, ratio in enumerate(drawn):
            if ratio.low is not None:
                axes.hlines(at, ratio.low, ratio.high, color=_SERIES[0], linewidth=2)
            face = _PAPER if ratio.low is None else _SERIES[0]
            axes.plot(ratio.value, at, "D", color=_SERIES[0], markersize=7, markerfacecolor=face)
            text = {"transform": axes.get_yaxis_transform(), "color": _MUTED, "fontsize": 10}
            axes.text(1.02, at, f"{ratio.value:.2f}", va="center", **text)
        low, high = axes.get_xlim()
        axes.set_xlim(min(low, 0.7), max(high, 1.45))
        _log_ticks(axes.xaxis)
        axes.set_xlabel(across)
        return figure

    return Chart(name, title, words, draw)


def timeline(
    name: str,
    title: str,
    words: str,
    panels: Sequence[Panel],
    across: str,
    up: str,
    *,
    limit_label: str = "N",
) -> Chart:
    """Small plots in two columns, each with its own scale; a label keeps its colour."""

    def draw() -> Figure:
        drawn = panels[:MOST_PANELS]
        columns = min(len(drawn), 2)
        rows = -(-len(drawn) // columns)
        titles = [_fold(panel.title, _TITLE_LETTERS * 2 // columns) for panel in drawn]
        further_in = _TEXT_LINE_IN * max(title.count("\n") for title in titles)
        height_in = (_PANEL_IN + further_in) * rows + 0.8
        figure = Figure(figsize=(_WIDTH_IN, height_in), layout="constrained")
        labels = dict.fromkeys(curve.label for panel in drawn for curve in panel.curves)
        colours = {label: _colour(at) for at, label in enumerate(labels)}
        grid = figure.subplots(rows, columns, squeeze=False)
        for axes, panel, panel_title in zip_longest(grid.flat, drawn, titles):
            if panel:
                _draw_panel(axes, panel, colours)
                axes.set_title(panel_title, fontsize=10.5, loc="left", pad=4)
            else:
                axes.set_axis_off()
        figure.supxlabel(across, fontsize=11)
        figure.supylabel(up, fontsize=11)
        handles = []
        for label, colour in colours.items():
            handles.append(Line2D([], [], color=colour, label=_fold(label, _LEGEND_LETTERS)))
        if any(panel.limit is not None for panel in drawn):
            handles.append(Line2D([], [], label=limit_label, **_DASHED))
        _legend_above(figure, handles)
        return figure

    return Chart(name, title, words, draw)


def _plain(axes: Axes, grid: str) -> None:
    """Only the bottom line of the frame; faint lines across the axis `grid`."""
    axes.set_axisbelow(True)
    axes.tick_params(length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.grid(axis=grid, color=_GRID, linewidth=0.8)


def _rows(labels: Sequence[str]) -> tuple[Figure, Axes]:
    """A row for each label, the first at the top.

    Each line of a folded label is its own tick: matplotlib aligns lines by the widths of its font,
    and a browser has another.
    """
    names = [_fold(label, _NAME_LETTERS) for label in labels]
    row_in = max(0.3, 0.21 * (1 + max(name.count("\n") for name in names)))
    height_in = 0.9 + row_in * len(names)
    figure = Figure(figsize=(_WIDTH_IN, height_in), layout="constrained")
    axes = figure.add_subplot()
    _plain(axes, "x")
    figure.get_layout_engine().set(w_pad=0.1)  # a name may be wider in a browser
    ticks = [
        (at + (number - name.count("\n") / 2) * _TEXT_LINE_IN / row_in, text)
        for at, name in enumerate(names)
        for number, text in enumerate(name.split("\n"))
    ]
    axes.set_yticks([at for at, _ in ticks], [text for _, text in ticks])
    axes.set_ylim(len(names) - 0.4, -0.6)
    return figure, axes


def _ticks_at(axes: Axes, xs: Sequence[float], texts: list[str]) -> None:
    """A logarithmic x axis with a tick at each x, as many of them labelled as fit."""
    axes.set_xscale("log")
    span = xs[-1] / xs[0]
    margin = span**0.06 if span > 1 else 2
    axes.set_xlim(xs[0] / margin, xs[-1] * margin)
    room = span ** (0.025 * max(map(len, texts)))
    labelled = xs[-1]
    for at in range(len(xs) - 2, -1, -1):
        if labelled / xs[at] >= room:
            labelled = xs[at]
        else:
            texts[at] = ""
    axes.set_xticks(xs, texts)
    axes.xaxis.set_minor_locator(NullLocator())


def _draw_line(axes: Axes, line: Line, beside: float, colour: str, marker: str) -> Sequence[Artist]:
    marks = [(x * beside, mark) for x, mark in sorted(line.marks.items())]
    xs, values = [x for x, _ in marks], [mark.value for _, mark in marks]
    look = {"color": colour, "marker": marker, "markersize": 7, "linewidth": 1.6}
    label = _fold(line.label, _LEGEND_LETTERS)
    for x, mark in marks:
        if mark.low is None:
            axes.plot(x, mark.value, markerfacecolor=_PAPER, zorder=4, **look)
        else:
            axes.vlines(x, mark.low, mark.high, color=colour, linewidth=1.8)
    for x in line.ringed:
        axes.plot(x * beside, line.marks[x].value, "o", markeredgecolor=_INK, zorder=5, **_RING)
    return axes.plot(xs, values, label=label, **look)


def _draw_proportion(axes: Axes, lines: Sequence[Line], last_x: float) -> Sequence[Artist]:
    """From the first mark to just above the highest."""
    x, mark = min(lines[0].marks.items())
    most = max(mark.value for line in lines for mark in line.marks.values())
    ends = [1, min(1.2 * most / mark.value, last_x / x) if mark.value else 1]
    values = [mark.value * by for by in ends]
    return axes.plot([x * by for by in ends], values, label="in proportion", **_DOTTED)


def _scale_up(axes: Axes, is_log: bool) -> None:
    if is_log:
        axes.set_yscale("log")
        low, high = axes.get_ylim()
        wider = max(1, 2 * low / high) ** 0.5
        axes.set_ylim(low / wider, high * wider)
        _log_ticks(axes.yaxis)
    else:
        axes.set_ylim(0, axes.get_ylim()[1] * 1.04)
        _even_ticks(axes.yaxis, 5)


def _even_ticks(axis: Axis, most: int) -> None:
    axis.set_major_locator(MaxNLocator(most, steps=[1, 2, 5, 10]))
    axis.set_major_formatter(FuncFormatter(_number))


def _log_ticks(axis: Axis) -> None:
    low, high = axis.get_view_interval()
    spread = high / low
    places = (1,) if spread > 200 else (1, 2, 5) if spread > 6 else (1, 1.4, 2, 3, 5, 7)
    axis.set_major_locator(LogLocator(subs=places))
    axis.set_major_formatter(FuncFormatter(_number))
    axis.set_minor_locator(NullLocator())


def _label_ends(axes: Axes, lines: Sequence[Line]) -> None:
    """The label of each line at its end, moved up if two would touch."""
    to_axes = axes.transData + axes.transAxes.inverted()
    ends = []
    for at, line in enumerate(lines):
        x, mark = max(line.marks.items())
        ends.append((to_axes.transform((x, mark.value))[1], at, plain(line.label)))
    lowest = 0.0
    for height, at, label in sorted(ends):
        height = max(height, lowest)
        look = {"color": _colour(at), "fontsize": 10, "va": "center"}
        axes.text(1.015, height, label, transform=axes.transAxes, **look)
        lowest = height + 0.075


def _draw_box(axes: Axes, box: Box, at: int) -> None:
    colour = _SERIES[0]
    shade = {"facecolor": to_rgba(colour, 0.22), "edgecolor": colour, "linewidth": 1.2}
    axes.barh(at, box.p75 - box.p25, 0.6, left=box.p25, **shade)
    axes.hlines([at, at], [box.least, box.p75], [box.p25, box.most], color=colour, linewidth=1.4)
    axes.vlines(box.median, at - 0.3, at + 0.3, color=colour, linewidth=2.4)
    # Alternately up and down, so that equal values stay apart.
    places = [at + 0.4 * (number * 0.618 % 1 - 0.5) for number in range(len(box.values))]
    axes.plot(box.values, places, ".", color=_INK, markersize=4, markeredgewidth=0, zorder=4)


def _draw_panel(axes: Axes, panel: Panel, colours: Mapping[str, str]) -> None:
    _plain(axes, "y")
    for curve in panel.curves:
        colour = colours[curve.label]
        if curve.is_filled:
            step = "post" if curve.is_step else None
            shade = {"color": colour, "alpha": 0.3, "linewidth": 0}
            axes.fill_between(curve.at_s, curve.heights, step=step, **shade)
        drawstyle = "steps-post" if curve.is_step else "default"
        axes.plot(curve.at_s, curve.heights, drawstyle=drawstyle, color=colour, linewidth=1.2)
    if panel.limit is not None:
        axes.axhline(panel.limit, **_DASHED)
    heights = [height for curve in panel.curves for height in curve.heights]
    axes.set_ylim(0, 1.12 * max([panel.limit or 0, *heights]) or 1)
    moments = [at_s for curve in panel.curves for at_s in curve.at_s]
    axes.set_xlim(0, panel.span_s or max(moments, default=0) or 1)
    _even_ticks(axes.xaxis, 4)
    _even_ticks(axes.yaxis, 3)
    if panel.limit:
        axes.set_yticks([0, panel.limit])


def _colour(at: int) -> str:
    return _SERIES[at % len(_SERIES)]


def _legend_above(figure: Figure, handles: Sequence[Artist]) -> None:
    """In as many columns as fit; a long legend makes the figure taller."""
    if handles:
        letters = max(len(handle.get_label()) for handle in handles) + 5
        columns = max(1, min(4, (_LEGEND_LETTERS + 5) // letters))
        rows = -(-len(handles) // columns)
        figure.set_figheight(figure.get_figheight() + 0.24 * (rows - 1))
        figure.legend(handles=handles, loc="outside upper center", ncols=columns)


def _fold(text: str, letters: int) -> str:
    """Wrap into lines of at most `letters`, not within `N = 10` or before a unit; without control
    characters, which SVG doesn't allow."""
    return fill(unbroken(plain(text)), letters).replace("\u00a0", " ")


def _number(value: float, _place: object = None) -> str:
    return f"{value:,.10g}"
