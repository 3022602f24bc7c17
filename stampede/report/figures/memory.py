"""Time and cost of one operation against the memory of its function: a line for each N in both."""

from dataclasses import replace

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from stampede.report.figures import drawing
from stampede.report.figures.picture import Picture
from stampede.report.figures.subject import Subject

PANEL_IN = 2.4
HOLLOW = {"markerfacecolor": "none", "markeredgecolor": drawing.INK}
# What each part shows: its axis, a point's value and interval, and the title that marks a point.
PARTS = (
    ("median seconds", "fastest", lambda point: (point["median_s"], point["median_interval"])),
    ("USD for a million", "cheapest", lambda point: (point["usd_per_million"]["value"], point["usd_per_million"])),
)


class Memory(Picture):
    """None where no series has two memory sizes."""

    name = "memory"
    title = "{what} of one {operation} by memory"
    caption = (
        "{parts}Each line is one N, bars are 95 % intervals (hollow marker: it has none). Cold starts are in the table "
        "alone. Markers of one size are moved apart. An outline around a marker marks the fastest, or the cheapest, "
        "size of its line; without one it isn’t known which size that is."
    )

    def __init__(self, subject: Subject) -> None:
        every = subject.numbers["memory"]
        self.is_priced = all(point["usd_per_million"] for series in every for point in series["points"])
        self.what, self.parts = "Time", ""
        if self.is_priced:
            self.what = "Time and cost"
            self.parts = (
                f"Upper part: the median time; lower part: the cost of a million {subject.experiment.operation[1]}. "
            )
        # A line's label has what the title of another picture would say.
        super().__init__(replace(subject, common=""))
        enough = subject.numbers["rules"]["minimum_for_comparison"]
        # First operations of an environment, which are few and cost many times as much, are in the table alone.
        later = [series for series in every if not series["of_first_operations"]] or every
        full = [series for series in later if all(point["count"] >= enough for point in series["points"])]
        self.series = full or later

    def description(self) -> str:
        parts = []
        for series in self.series:
            texts = []
            for point in series["points"]:
                usd = point["usd_per_million"]
                cost = f" and {usd['value']:.3g} USD a million" if usd else ""
                texts.append(f"{point['median_s']:.3g} s{cost} at {point['memory_size_mb']:,} MB")
            parts.append(f"with {series['where']} {', '.join(texts)}")
        return f"{self.what} of {self.operations} by memory, medians: {'; '.join(parts)}."

    def draw(self) -> Figure | None:
        if not self.series:
            return None
        parts = PARTS if self.is_priced else PARTS[:1]
        figure = Figure(figsize=(drawing.WIDTH_IN, PANEL_IN * len(parts) + 0.9), layout="constrained")
        grid = figure.subplots(len(parts), 1, squeeze=False, sharex=True)[:, 0]
        sizes = sorted({point["memory_size_mb"] for series in self.series for point in series["points"]})
        for axes, (label, title, value_of) in zip(grid, parts, strict=True):
            drawing.plain(axes)
            axes.grid(axis="y", color=drawing.GRID, linewidth=0.8)
            for number, series in enumerate(self.series):
                (colour, marker), named = drawing.look(number), series[title] or ()
                beside = drawing.dodge(number, len(self.series), sizes)
                places = [point["memory_size_mb"] * beside for point in series["points"]]
                values = [value_of(point)[0] for point in series["points"]]
                axes.plot(places, values, color=colour, linewidth=1.6)
                for place, point in zip(places, series["points"], strict=True):
                    value, ends = value_of(point)
                    has_interval = bool(ends) and ends["low"] is not None
                    if has_interval:
                        axes.plot([place] * 2, [ends["low"], ends["high"]], color=colour, linewidth=1.2)
                    face = colour if has_interval else drawing.PAPER
                    axes.plot(place, value, marker, color=colour, markersize=5, markerfacecolor=face)
                    if [point["memory_size_mb"]] == list(named):
                        axes.plot(place, value, marker, color=colour, markersize=13, **HOLLOW)
            axes.set_ylim(bottom=0)
            axes.set_ylabel(label)
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        drawing.n_axis(grid[-1], sizes, "memory, MB (logarithmic)")
        handles = []
        for number, series in enumerate(self.series):
            colour, marker = drawing.look(number)
            handles.append(Line2D([], [], color=colour, marker=marker, markersize=5, label=series["where"]))
        drawing.legend_above(grid[0], handles)
        return figure
