"""Small multiples: a panel a series, where more than a few lines on top of each other can't be told apart."""

from collections.abc import Callable, Sequence
from textwrap import fill

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from stampede.report.figures import drawing
from stampede.report.figures.subject import Series

# As many series can share one set of axes.
MOST_TOGETHER = 3
PANEL_IN, LINE_IN, NAME_LETTERS = 1.75, 0.17, 20
COLUMNS = 3


def panels(
    series: Sequence[Series],
    draw: Callable[[Axes, Series], None],
    label: str,
    finish: Callable[[Axes], None],
    across: str = "",
) -> Figure:
    """A panel for each series, in rows of COLUMNS, all on the same scales; `draw` fills one, `finish` sets the scales
    once all are there; `label` and `across` name what stands upwards and across in all of them."""
    columns = min(COLUMNS, len(series))
    rows = -(-len(series) // columns)
    # A panel is too narrow for a name in one line.
    names = ["\n".join(fill(part, NAME_LETTERS) for part in line.label.split(", ")) for line in series]
    further_lines = max(0, max(name.count("\n") for name in names) - 2)
    height_in = (PANEL_IN + LINE_IN * further_lines) * rows + 0.6
    figure = Figure(figsize=(drawing.WIDTH_IN, height_in), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for at, axes in enumerate(grid.flat):
        if at >= len(series):
            axes.set_axis_off()
            grid.flat[at - columns].tick_params(labelbottom=True)
            continue
        drawing.plain(axes)
        axes.grid(axis="y", color=drawing.GRID, linewidth=0.8)
        draw(axes, series[at])
        axes.set_title(names[at], fontsize=10.5, loc="left", pad=4, color=series[at].colour, weight="bold")
    finish(grid.flat[0])
    figure.supylabel(label, fontsize=11)
    if across:
        figure.supxlabel(across, fontsize=11)
    return figure


def end_labels(axes: Axes, ends: Sequence[tuple[float, float, Series]], gap: float = 0.065) -> None:
    """The name of each series at the end of its line (x, y, series), moved apart where two would touch."""
    lowest, highest = axes.get_ylim()
    to_axes, from_axes = axes.transData.transform, axes.transAxes.inverted().transform
    placed = sorted(((from_axes(to_axes((x, y)))[1], series) for x, y, series in ends), key=lambda label: label[0])
    at = -1.0
    for place, series in placed:
        at = max(place, at + gap)
        axes.text(1.012, at, series.label, transform=axes.transAxes, color=series.colour, va="center", fontsize=10)
    axes.set_ylim(lowest, highest)  # labels must not change the scale
