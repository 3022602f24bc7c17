"""What one function gets, ranked: a panel for each of the cells in which several were tried, most functions first."""

from collections.abc import Mapping

from matplotlib.figure import Figure

from stampede.experiment.declaration import Compare
from stampede.report.figures import drawing, ranked
from stampede.report.figures.series import Cell, Drawn
from stampede.report.measured import speed_of
from stampede.runs.cell_key import Key, distinguishing, is_query

NAME = "choices"


def words(drawn: Drawn) -> str:
    """The picture's text alternative."""
    speeds = drawn.told(lambda cell: f"{found:,.0f}" if (found := speed_of(cell, drawn.experiment)) else None)
    return f"{drawn.experiment.speed.unit} of one {drawn.experiment.worker[0]}, ranked: {speeds}."


@drawing.styled
def draw(drawn: Drawn, compare: Compare) -> Figure | None:
    """The picture; None without a speed."""
    cells = {key: (one, cell) for one in drawn.series for key, cell in one.cells if speed_of(cell, drawn.experiment)}
    place = _place(drawn, compare)
    if place is None:
        return None
    lines = [
        (key.words_of(compare.axes), speed_of(cell, drawn.experiment), _interval(drawn, cell), one)
        for key, (one, cell) in cells.items()
        if key.without(compare.axes) == place.without(compare.axes)
    ]
    where, experiment = place.words_without(compare.axes, distinguishing(cells)), drawn.experiment
    label = f"{experiment.speed.unit} for one {experiment.worker[0]} with {where}"
    return ranked.draw(lines, label, pattern=f"{{:,.{experiment.speed.digits}f}}") if len(lines) > 1 else None


def _interval(drawn: Drawn, cell: Cell) -> Mapping[str, float] | None:
    return cell["mbit_per_s"]["per_function_interval"] if drawn.experiment.speed.how == "rate" else None


def _place(drawn: Drawn, compare: Compare) -> Key | None:
    """A cell of those with the largest N in which several were tried; one of workers, where there is one."""
    rows = drawn.numbers["comparisons"].get(compare.name, ())
    keys = [Key.of_figures(drawn.experiment.axes, one) for one in rows if one["all"]["count"]]
    return max(keys, key=lambda key: (not is_query(key, drawn.experiment), key.n), default=None)
