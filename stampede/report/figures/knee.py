"""What comes through against the axis on which more gives a gain up to a point, beside what was published."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from stampede.report.figures import drawing
from stampede.report.figures.panels import MOST_TOGETHER, panels
from stampede.report.figures.picture import Picture
from stampede.report.figures.subject import Series, Subject
from stampede.report.published import Theirs
from stampede.report.statistics.knee import KNEE

_RING = {
    "marker": "o",
    "markersize": 15,
    "markerfacecolor": "none",
    "markeredgewidth": 1.8,
    "linestyle": "none",
    "clip_on": False,
}
# Published lines differ in their dashes: they are all grey.
_DASHES = ((0, ()), (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1, 2)))
_PUBLISHED = {"color": drawing.MUTED, "linewidth": 1, "marker": "x", "markersize": 5}
_PROPORTION = {"color": drawing.INK, "linewidth": 1, "linestyle": ":"}
MOST_SERIES = 9
# One of the series of statistics.json, or one of its points.
Figures = Mapping[str, Any]
# Name, setting, and points: x, speed, speeds of the single runs.
PublishedLine = tuple[str, str, list[tuple[int, float, list[float]]]]


class Knee(Picture):
    """At most MOST_SERIES of the series of `knees`, and the published ones."""

    name = "knee"
    title = "Throughput against {axis.label}"
    caption = (
        "Each coloured marker is the median of a cell, the bar its 95 % interval (hollow: too few {operations} for an "
        "interval). Both axes are logarithmic: the dotted line is in proportion, and where a line bends away from it, "
        "the gain shrinks. A ring marks the knee of the medians, beyond which none is more than 10 % "
        "higher; a coloured line without a ring has none, or none that could be shown."
    )
    of_published = (
        " Published figures are grey: the published rate, else the objects over the published mean time; where single "
        "runs were published, their bars span the slowest to the fastest. They are of {settings}."
    )

    def __init__(self, subject: Subject, published: Sequence[Theirs]) -> None:
        experiment = subject.experiment
        self.axis = next(axis for axis in experiment.axes if axis.name == experiment.knee[0])  # type: ignore[index]
        super().__init__(subject)
        self.knees: Sequence[Figures] = subject.numbers["knees"]["series"][:MOST_SERIES]
        # Panels have no room for them.
        self.published = self._published_lines(published) if len(self.knees) <= MOST_TOGETHER else []
        if self.published:
            settings = "; ".join(dict.fromkeys(setting for _, setting, _ in self.published))
            self.caption += self.of_published.format(settings=settings)

    def description(self) -> str:
        medians = []
        for knee in self.knees:
            points = [f"{point['median']:,.4g} at {point[self.axis.name]:,}" for point in knee["points"]]
            medians.append(f"{', '.join(points)}" + (f" with {knee['place']}" if knee["place"] else ""))
        return f"Median {self.subject.experiment.speed.unit} on logarithmic axes: {'; '.join(medians)}."

    def draw(self) -> Figure:
        xs = {point[self.axis.name] for knee in self.knees for point in knee["points"]}
        xs |= {x for *_, line in self.published for x, *_ in line}
        across = f"{self.axis.label} (logarithmic)"
        up = f"{self.subject.experiment.speed.unit} (logarithmic)"
        names = [knee["place"] for knee in self.knees] if len(self.knees) > 1 else ["measured"]
        series = [Series(name, [], *drawing.look(at)) for at, name in enumerate(names)]
        knee_of = dict(zip(names, self.knees, strict=True))

        def scales(axes: Axes, across: str) -> None:
            drawing.n_axis(axes, xs, across)
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.yaxis.set_minor_locator(NullLocator())

        def panel(axes: Axes, line: Series) -> None:
            scales(axes, "")
            self._line(axes, knee_of[line.label], line)

        if len(series) > MOST_TOGETHER:
            return panels(series, panel, up, lambda axes: None, across)
        figure, axes = drawing.plot(4.3)
        scales(axes, across)
        for at, (*_, points) in enumerate(self.published):
            _published_line(axes, points, _DASHES[at % len(_DASHES)])
        self._proportion(axes)
        for line in series:
            self._line(axes, knee_of[line.label], line)
        axes.set_ylabel(up)
        drawing.legend_above(axes, self._legend(series))
        return figure

    def _line(self, axes: Axes, knee: Figures, series: Series) -> None:
        name, colour = self.axis.name, series.colour
        points = [point for point in knee["points"] if point["median"]]
        axes.plot([point[name] for point in points], [point["median"] for point in points], color=colour, linewidth=1.6)
        for point in points:
            x, interval = point[name], point["interval"]
            if interval and interval["low"] > 0:
                axes.plot([x, x], [interval["low"], interval["high"]], color=colour, linewidth=1.8)
            face = colour if interval else drawing.PAPER
            axes.plot(x, point["median"], series.marker, markersize=7, markerfacecolor=face, markeredgecolor=colour)
        if knee["level"] == KNEE:
            axes.plot(knee["knee"], knee["speed"], markeredgecolor=drawing.INK, zorder=5, **_RING)

    def _proportion(self, axes: Axes) -> None:
        """From the smallest point of the first series, as far up as anything came through."""
        points, name = self.knees[0]["points"], self.axis.name
        first = next((point for point in points if point["median"]), None)
        if first:
            most = max(point["median"] for point in points) / first["median"]
            factors = [1, min(most * 1.4, points[-1][name] / first[name])]
            axes.plot([first[name] * by for by in factors], [first["median"] * by for by in factors], **_PROPORTION)

    def _published_lines(self, published: Sequence[Theirs]) -> list[PublishedLine]:
        """Each published series of more than one point."""
        name, metric = self.axis.name, self.subject.experiment.speed
        groups: dict[tuple[str, tuple[Any, ...]], list[Theirs]] = {}
        for cell in published:
            if cell.published.in_figure and cell.speed(metric):
                groups.setdefault((cell.published.label, cell.key.without((name,))), []).append(cell)
        labels = [label for label, _ in groups]
        firsts = [cells[0].key for cells in groups.values() if len(cells) > 1]
        lines = []
        for (label, _), cells in groups.items():
            if len(cells) > 1:
                key = cells[0].key
                differing = [axis.name for axis in key.axes if len({first[axis.name] for first in firsts}) > 1]
                if labels.count(label) > 1:
                    label += f", {' '.join(key.value_words(other) for other in differing if other != name)}"
                cells.sort(key=lambda cell: cell.key[name])
                points = [(cell.key[name], cell.speed(metric) or 0, cell.speeds(metric)) for cell in cells]
                lines.append((label, cells[0].published.setting, points))
        return lines

    def _legend(self, series: Sequence[Series]) -> list[Line2D]:
        entries = [Line2D([], [], color=line.colour, marker=line.marker, label=line.label) for line in series]
        if any(knee["level"] == KNEE for knee in self.knees):
            ring = _RING | {"markersize": 9}
            entries.append(Line2D([], [], markeredgecolor=drawing.INK, label="knee of the medians", **ring))
        for at, (label, *_) in enumerate(self.published):
            entries.append(Line2D([], [], label=label, linestyle=_DASHES[at % len(_DASHES)], **_PUBLISHED))
        return [*entries, Line2D([], [], label="in proportion", **_PROPORTION)]


def _published_line(axes: Axes, line: Sequence[tuple[int, float, list[float]]], dashes: Any) -> None:
    axes.plot([x for x, *_ in line], [speed for _, speed, _ in line], linestyle=dashes, **_PUBLISHED)
    for x, _, runs in line:
        if runs:
            axes.plot([x, x], [min(runs), max(runs)], color=drawing.MUTED, linewidth=0.8)
