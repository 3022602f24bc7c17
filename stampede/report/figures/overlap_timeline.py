"""How many functions really ran at once, over time, a small plot a cell."""

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from stampede.phrases import share
from stampede.report.figures import drawing
from stampede.report.figures.series import Cell, Drawn, Series

NAME = "overlap_timeline"
TITLE = "Concurrency over time"
READING = (
    "One plot per cell: the number of {workers} running, over the seconds since the first start. The dashed line is "
    "N. Full overlap, from the first to the last moment at which N ran at once, is shaded; left of it is the "
    "ramp-up, right of it the tail. Only within it do figures describe N {workers}. The percentage is the time at "
    "full N: the share of all {one} time that was spent with at least N running. Further repeats are thin lines."
)
# Beyond this the picture is longer than anyone scrolls; the table beside it has every cell.
MOST_PANELS = 48
PANEL_IN, LINE_IN = 1.18, 0.17
# By the number of columns; the share of time stands beside it.
TITLE_LETTERS = {1: 80, 2: 32, 3: 20}


def words(drawn: Drawn) -> str:
    """The picture's text alternative."""
    most = drawn.told(lambda cell: str(cell["parallelism"]["most_at_once"]) if cell["parallelism"] else None)
    return f"{drawn.experiment.worker[1].capitalize()} running over time, one plot per cell. Peak concurrency: {most}."


@drawing.styled
def draw(drawn: Drawn) -> Figure | None:
    """The picture; None when no record says when it ran."""
    rows = _rows(drawn)
    if not rows:
        return None
    columns = max(map(len, rows))
    letters = TITLE_LETTERS[columns]
    further_in = LINE_IN * max(fill(_title(*panel), letters).count("\n") for row in rows for panel in row if panel)
    height = (PANEL_IN + further_in) * len(rows) + 0.75
    figure = Figure(figsize=(drawing.WIDTH_IN, height))
    grid = figure.subplots(len(rows), columns, squeeze=False)
    for row, line in zip(rows, grid, strict=True):
        for at, axes in enumerate(line):
            if at < len(row) and row[at]:
                _panel(axes, *row[at])
                axes.set_title(fill(_title(*row[at]), letters), fontsize=10.5, loc="left", pad=4)
            else:
                axes.set_axis_off()
    top, hspace = 1 - (0.62 + further_in) / height, 0.85 + 1.85 * further_in / PANEL_IN
    figure.subplots_adjust(0.075, 0.52 / height, 0.985, top, wspace=0.16, hspace=hspace)
    figure.supxlabel("seconds since the first start of the cell", fontsize=11, y=0.06 / height)
    figure.legend(handles=_legend(), loc="upper center", ncols=3, bbox_to_anchor=(0.5, 1 - 0.02 / height))
    return figure


def left_out(drawn: Drawn) -> int:
    """How many cells with times the picture has no room for."""
    timed = sum(bool(cell["parallelism"]) for cell in drawn.numbers["cells"])
    shown = sum(1 for row in _rows(drawn) for panel in row if panel)
    return timed - shown


def _rows(drawn: Drawn) -> list[list[tuple[Series, int, Cell] | None]]:
    """The panels: a column a series when there are two or three, else two columns in order."""
    groups = drawn.series
    found = {(at, key.n): (one, key.n, cell) for at, one in enumerate(groups) for key, cell in one.cells
             if cell["parallelism"]}  # fmt: skip
    if len(groups) in (2, 3):
        rows = [[found.get((at, n)) for at in range(len(groups))] for n in drawn.concurrencies]
        rows = [row for row in rows if any(row)]
    else:
        panels = list(found.values())
        rows = [list(panels[at : at + 2]) for at in range(0, len(panels), 2)]
    return rows[: MOST_PANELS // max(map(len, rows), default=1)]


def _panel(axes: Axes, series: Series, n: int, cell: Cell) -> None:
    timed = [one["parallelism"] for one in cell["repeats"] if one["parallelism"]]
    first, span_s = timed[0], max(one["span_ms"] for one in timed) / 1000
    drawing.plain(axes)
    for window in _windows_ms(first["window"]):
        axes.axvspan(*(at / 1000 for at in window), color=drawing.MUTED, alpha=0.22, linewidth=0)
    for number, one in enumerate(timed):
        at = [moment / 1000 for moment in one["timeline"]["at_ms"]]
        running = one["timeline"]["running"]
        if number == 0:
            axes.fill_between(at, running, step="post", color=series.colour, alpha=0.3, linewidth=0)
        axes.step(at, running, where="post", color=series.colour, linewidth=1.1 if number == 0 else 0.5)
    axes.axhline(n, color=drawing.INK, linewidth=1, linestyle=(0, (4, 3)))
    top = max(n, *(one["most_at_once"] for one in timed))
    axes.set_ylim(0, top * 1.12)
    axes.set_xlim(0, span_s or 1)
    axes.set_yticks([0, n])
    axes.locator_params(axis="x", nbins=4)
    axes.set_title(
        share(cell["parallelism"]["share_of_download_time_at_full"]),
        fontsize=10.5,
        loc="right",
        pad=4,
        color=drawing.MUTED,
    )


def _windows_ms(window: Mapping[str, Any] | None) -> Sequence[Sequence[float]]:
    """The full overlap of a repeat, or of each of its rounds."""
    if not window:
        return ()
    return window.get("rounds_ms") or [(window["from_ms"], window["to_ms"])]


def _title(series: Series, n: int, _: Cell) -> str:
    return f"{series.label}, N = {n:,}"


def _legend() -> list[Patch | Line2D]:
    return [
        Line2D([], [], color=drawing.SERIES[0], linewidth=1.4, label="running"),
        Line2D([], [], color=drawing.INK, linewidth=1, linestyle=(0, (4, 3)), label="N"),
        Patch(facecolor=drawing.MUTED, alpha=0.22, label="full overlap"),
    ]
