"""Cold operations against warm ones, a line a cell."""

from matplotlib.figure import Figure

from stampede.phrases import signed
from stampede.report.figures import drawing
from stampede.report.figures.picture import Picture
from stampede.report.figures.subject import CellFigures, Subject


class ColdStarts(Picture):
    """None when no cell has enough of both."""

    name = "cold_starts"
    title = "Cold starts against warm ones"
    caption = (
        "Each line is one cell: the median of the first {operations} of each function instance (cold) minus the median "
        "of its later ones (warm), with the 95 % interval. Right of the vertical line cold {operations} are slower; "
        "where the interval crosses it, the two are too close to call. The function’s initialization ends before the "
        "{operation} starts and isn’t included."
    )
    of_several = (
        " Cold {operations} are the first of a flood: above N = 1, another number of {workers} runs beside them. The "
        "difference includes that, and can be below zero for it."
    )

    def __init__(self, subject: Subject) -> None:
        if subject.concurrencies[-1:] > [1]:
            self.caption += self.of_several
        super().__init__(subject)

    def description(self) -> str:
        def added(cell: CellFigures) -> str | None:
            difference = _difference(cell)
            return difference and signed(difference["value"], 3)

        differences = self.subject.listing(added)
        return f"Median seconds of cold minus those of warm {self.operations}, by cell: {differences}."

    def draw(self) -> Figure | None:
        cells = [(series, key, _difference(cell)) for series in self.subject.series for key, cell in series.cells]
        lines = [(series, key, difference) for series, key, difference in cells if difference]
        if not lines:
            return None
        figure, axes = drawing.lines([f"{series.label}, N = {key.n:,}" for series, key, _ in lines], 0.27)
        axes.axvline(0, color=drawing.INK, linewidth=1)
        for at, (series, _, difference) in enumerate(lines):
            look = {"color": series.colour, "markeredgecolor": drawing.PAPER}
            axes.plot([difference["low"], difference["high"]], [at, at], color=series.colour, linewidth=2)
            axes.plot(difference["value"], at, series.marker, markersize=7, **look)
        axes.set_xlabel("cold minus warm, seconds")
        return figure


def _difference(cell: CellFigures) -> dict[str, float] | None:
    return cell["cold"]["difference_of_medians_s"]
