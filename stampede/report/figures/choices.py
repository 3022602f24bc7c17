"""What one function gets, ranked: in one of the cells in which several variants were tried, of those with the largest
N."""

from matplotlib.figure import Figure

from stampede.cell import distinguishing, is_query
from stampede.experiment import Compare
from stampede.report.figures import ranked
from stampede.report.figures.picture import Picture
from stampede.report.figures.subject import CellFigures, Subject
from stampede.report.measured import speed_interval, speed_of


class Choices(Picture):
    """A line a variant; None without two that have a speed. `ending` is that of the name, for further comparisons."""

    name = "choices"
    title, caption = ranked.TITLE, ranked.CAPTION

    def __init__(self, subject: Subject, compare: Compare, ending: str = "") -> None:
        super().__init__(subject)
        self.name += ending
        self.compare = compare

    def _speed(self, cell: CellFigures) -> float | None:
        return speed_of(cell, self.subject.experiment)

    def description(self) -> str:
        label, lines = self._lines()
        digits = self.subject.experiment.speed.digits
        speeds = [f"{value:,.{digits}f} with {name}" for name, value, *_ in ranked.ordered(lines)]
        return f"{label}, ranked: {'; '.join(speeds)}."

    def draw(self) -> Figure | None:
        label, lines = self._lines()
        return ranked.ranked(lines, label, self.subject.experiment.speed.digits) if len(lines) > 1 else None

    def _lines(self) -> tuple[str, list[ranked.Line]]:
        """What the values are, and those of the variants."""
        experiment, axes = self.subject.experiment, self.compare.axes
        rows = self.subject.numbers["comparisons"].get(self.compare.name, ())
        places = [self.subject.key(row) for row in rows if row["all"]["count"]]
        if not places:
            return "", []
        # One of functions, where there is one.
        place = max(places, key=lambda key: (not is_query(key, experiment), key.n))
        cells = [(key, cell, series) for series in self.subject.series for key, cell in series.cells]
        cells = [(key, cell, series) for key, cell, series in cells if self._speed(cell)]
        lines = []
        for key, cell, series in cells:
            if key.without(axes) == place.without(axes):
                lines.append((key.words_of(axes), self._speed(cell), speed_interval(cell, experiment), series))
        where = place.words_without(axes, distinguishing(key for key, *_ in cells))
        return f"{experiment.speed.unit} for one {self.worker} with {where}", lines
