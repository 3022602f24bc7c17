"""A ranked dot plot: one line a series, the best on top, each with its interval and its figure."""

from collections.abc import Mapping, Sequence
from textwrap import fill

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from stampede.report.figures import drawing
from stampede.report.figures.subject import Series

TITLE = "Throughput per {worker}, ranked"
CAPTION = (
    "Each line is one cell: the mean throughput of one {worker}, with its 95 % interval (hollow marker: it has none)."
)
LABEL_LETTERS = 64
# Name, value, interval or None, and whose colour and marker it has.
Line = tuple[str, float, Mapping[str, float] | None, Series]


def ordered(lines: Sequence[Line]) -> list[Line]:
    """The best first."""
    return sorted(lines, key=lambda line: line[1], reverse=True)


def ranked(lines: Sequence[Line], label: str, digits: int = 0) -> Figure:
    """The plot of `lines`; `label` names what their values are, which are shown with so many decimals."""
    best_first = ordered(lines)
    figure, axes = drawing.lines([name for name, *_ in best_first])
    for at, (_, value, interval, series) in enumerate(best_first):
        axes.plot([0, value], [at, at], color=drawing.GRID, linewidth=1, zorder=1)
        if interval:
            axes.plot([interval["low"], interval["high"]], [at, at], color=series.colour, linewidth=2.4)
        face = series.colour if interval else drawing.PAPER
        axes.plot(value, at, series.marker, markersize=8, markerfacecolor=face, markeredgecolor=series.colour)
        right = interval["high"] if interval else value
        beside = {"xytext": (9, 0), "textcoords": "offset points", "va": "center"}
        axes.annotate(f"{value:,.{digits}f}", (right, at), color=drawing.MUTED, fontsize=10, **beside)
    axes.set_xlim(0, max(max(value, (interval or {}).get("high", 0)) for _, value, interval, _ in lines) * 1.16)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.set_xlabel(fill(label, LABEL_LETTERS))
    return figure
