"""How many functions really ran at once, over time, a small plot a cell."""

from itertools import zip_longest
from textwrap import fill

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from stampede.phrases import share, unbroken
from stampede.report.figures import drawing
from stampede.report.figures.picture import Picture
from stampede.report.figures.subject import CellFigures, Series, Subject

# Beyond this the picture is longer than anyone scrolls; the table beside it has every cell.
MOST_PANELS = 48
PANEL_IN, LINE_IN = 1.18, 0.17
# By the number of columns; the share of time stands beside it.
TITLE_LETTERS = {1: 80, 2: 28, 3: 16}
DASHES = (0, (4, 3))
Panel = tuple[Series, int, CellFigures]


class OverlapTimeline(Picture):
    """None when no record says when it ran."""

    name = "overlap_timeline"
    title = "Concurrency over time"
    caption = (
        "One plot per cell: the number of {workers} running, over the seconds since the first start. The dashed line "
        "is N. Full overlap, from the first to the last moment at which N ran at once, is shaded; left of it is the "
        "ramp-up, right of it the tail. Outside it figures describe fewer than N "
        "{workers}, and within it concurrency may still dip. The percentage is the time at "
        "full N: the share of the {operation} time that was spent with at least N running. Further repeats are thin "
        "lines."
    )
    of_rounds = " Rounds stand end to end, without the time between them."
    of_rows = (
        " Plots that differ in {split_by} alone are of the same planned cell: the curve is that of all its "
        "{operations}, the percentage that of the plot’s own."
    )
    of_queries = " Plots of Athena’s queries count queries, not {workers}."
    across = "seconds since the first start of the cell"

    def __init__(self, subject: Subject, split_by: str = "", has_queries: bool = False) -> None:
        """`split_by` are the axes that split planned cells into rows, in words."""
        self.split_by = split_by
        has_rounds = any("rounds" in (cell["parallelism"] or ()) for cell in subject.numbers["cells"])
        self.caption += self.of_rounds * has_rounds + self.of_rows * bool(split_by) + self.of_queries * has_queries
        super().__init__(subject)

    def description(self) -> str:
        peaks = self.subject.listing(
            lambda cell: str(cell["parallelism"]["most_at_once"]) if cell["parallelism"] else None
        )
        return f"{self.workers.capitalize()} running over time, one plot per cell. Peak concurrency: {peaks}."

    def draw(self) -> Figure | None:
        rows = self._rows()
        if not rows:
            return None
        columns = max(map(len, rows))
        letters = TITLE_LETTERS[columns]
        titles = [[panel and _title(panel, letters) for panel in row] for row in rows]
        further_in = LINE_IN * max(title.count("\n") for row in titles for title in row if title)
        height = (PANEL_IN + further_in) * len(rows) + 0.75
        figure = Figure(figsize=(drawing.WIDTH_IN, height))
        grid = figure.subplots(len(rows), columns, squeeze=False)
        for row, names, line in zip(rows, titles, grid, strict=True):
            for panel, title, axes in zip_longest(row, names, line):
                if panel:
                    _panel(axes, *panel)
                    axes.set_title(title, fontsize=10.5, loc="left", pad=4)
                else:
                    axes.set_axis_off()
        top, hspace = 1 - (0.62 + further_in) / height, 0.85 + 1.85 * further_in / PANEL_IN
        figure.subplots_adjust(0.075, 0.52 / height, 0.985, top, wspace=0.16, hspace=hspace)
        figure.supxlabel(self.across, fontsize=11, y=0.06 / height)
        legend = [
            Line2D([], [], color=drawing.SERIES[0], linewidth=1.4, label="running"),
            Line2D([], [], color=drawing.INK, linewidth=1, linestyle=DASHES, label="N"),
            Patch(facecolor=drawing.MUTED, alpha=0.22, label="full overlap"),
        ]
        figure.legend(handles=legend, loc="upper center", ncols=3, bbox_to_anchor=(0.5, 1 - 0.02 / height))
        return figure

    def left_out(self) -> int:
        """How many cells with times the picture has no room for."""
        timed = sum(bool(cell["parallelism"]) for cell in self.subject.numbers["cells"])
        return timed - sum(1 for row in self._rows() for panel in row if panel)

    def _rows(self) -> list[list[Panel | None]]:
        """The panels: a column a series when there are two or three, else two columns in order."""
        groups = self.subject.series
        panels: dict[tuple[int, int], Panel] = {}
        for at, series in enumerate(groups):
            for key, cell in series.cells:
                if cell["parallelism"]:
                    panels[at, key.n] = (series, key.n, cell)
        if len(groups) in (2, 3):
            rows = [[panels.get((at, n)) for at in range(len(groups))] for n in self.subject.concurrencies]
            rows = [row for row in rows if any(row)]
        else:
            in_order = list(panels.values())
            rows = [list(in_order[at : at + 2]) for at in range(0, len(in_order), 2)]
        return rows[: MOST_PANELS // max(map(len, rows), default=1)]


def _title(panel: Panel, letters: int) -> str:
    """A line breaks neither within N = 10 nor between a number and its unit."""
    return fill(unbroken(f"{panel[0].label}, N = {panel[1]:,}"), letters).replace("\u00a0", " ")


def _panel(axes: Axes, series: Series, n: int, cell: CellFigures) -> None:
    timed = [repeat["parallelism"] for repeat in cell["repeats"] if repeat["parallelism"]]
    drawing.plain(axes)
    if window := timed[0]["window"]:
        for from_ms, to_ms in window.get("rounds_ms") or [(window["from_ms"], window["to_ms"])]:
            axes.axvspan(from_ms / 1000, to_ms / 1000, color=drawing.MUTED, alpha=0.22, linewidth=0)
    for number, repeat in enumerate(timed):
        at = [moment / 1000 for moment in repeat["timeline"]["at_ms"]]
        running = repeat["timeline"]["running"]
        if number == 0:
            axes.fill_between(at, running, step="post", color=series.colour, alpha=0.3, linewidth=0)
        axes.step(at, running, where="post", color=series.colour, linewidth=1.1 if number == 0 else 0.5)
    axes.axhline(n, color=drawing.INK, linewidth=1, linestyle=DASHES)
    axes.set_ylim(0, 1.12 * max(n, *(repeat["most_at_once"] for repeat in timed)))
    axes.set_xlim(0, max(repeat["span_ms"] for repeat in timed) / 1000 or 1)
    axes.set_yticks([0, n])
    axes.locator_params(axis="x", nbins=4)
    at_n = share(cell["parallelism"]["share_of_download_time_at_full"])
    axes.set_title(at_n, fontsize=10.5, loc="right", pad=4, color=drawing.MUTED)
