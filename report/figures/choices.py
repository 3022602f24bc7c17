"""What one function gets, ranked: a panel for each of the cells in which several were tried, most functions first."""

from matplotlib.figure import Figure

from experiments.experiment import Compare
from report.cell_key import Key, told_apart
from report.figures import drawing, ranked
from report.figures.series import Drawn

NAME = "choices"


def words(drawn: Drawn) -> str:
    """The picture's text alternative."""
    speeds = drawn.told(lambda cell: f"{cell['mbit_per_s']['per_function']:.0f}"
                        if cell["mbit_per_s"]["per_function"] else None)  # fmt: skip
    return f"Mbit/s of one function, ranked. All figures: {speeds}."


@drawing.styled
def draw(drawn: Drawn, compare: Compare) -> Figure | None:
    """The picture; None without a speed."""
    cells = {key: (one, cell) for one in drawn.series for key, cell in one.cells if cell["mbit_per_s"]["per_function"]}
    place = _place(drawn, compare)
    if place is None:
        return None
    lines = [
        (
            key.words_of(compare.axes),
            cell["mbit_per_s"]["per_function"],
            cell["mbit_per_s"]["per_function_interval"],
            one,
        )
        for key, (one, cell) in cells.items()
        if key.without(compare.axes) == place.without(compare.axes)
    ]
    where = place.words_without(compare.axes, told_apart(cells))
    return ranked.draw(lines, f"Mbit/s for one function with {where}") if len(lines) > 1 else None


def _place(drawn: Drawn, compare: Compare) -> Key | None:
    """A cell of those with the largest N in which several were tried."""
    rows = drawn.numbers["comparisons"].get(compare.name, ())
    keys = [Key.of_figures(drawn.experiment.axes, one) for one in rows if one["all"]["count"]]
    return max(keys, key=lambda key: key.n, default=None)
