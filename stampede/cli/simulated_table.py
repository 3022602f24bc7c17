"""What `stampede simulate` prints: a row a cell, with the columns of the experiment's table and then the model's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from experiments import Experiment
from stampede import tables, terminal
from stampede.cell import SETTINGS, Cell, distinguishing
from stampede.model.parameters import Parameters
from stampede.model.prediction import RANGED, Prediction
from stampede.phrases import listed
from stampede.planning import cost
from stampede.planning.plan import Plan
from stampede.planning.predicting import Given, PredictedCell
from stampede.runs.cells import SECONDS, published_columns
from stampede.tables import LEAST_TEXT, Column, number_text

# What the model says beside the columns of the experiment's table, and how it is headed.
FLOOD = {
    "time_to_n_s": "time\nto N s",
    "share_at_n": "in full\noverlap %",
    "most_at_once": "peak\nconc.",
    "drain_s": "drain\ns",
    "peak_requests_per_s": "requests/s,\npeak of limit",
    "usd": "USD",
    "binds": "bottleneck",
}
# More digits say nothing, and the last ones of a logarithm may differ from machine to machine.
DIGITS = 6


@dataclass(frozen=True)
class SimulatedRow:
    """A cell with all its repeats: its coordinates, how many operations, what the model says and what it costs.

    Where records distinguish the first operation of an environment from later ones, each kind has a row with its own
    seconds and its part of the bill; the other figures are the cell's.
    """

    cell: Cell
    count: int
    usd: float
    prediction: Prediction

    def figures(self) -> dict[str, Any]:
        """By column, coordinates and all; None for what there isn't."""
        predicted = self.prediction.as_dict()
        own = {name: _rounded(predicted[name]) for name in (*SECONDS, *FLOOD) if name != "usd"}
        return {**self.cell.figures(), "count": self.count, "usd": _rounded(self.usd), **own}

    def texts(self) -> dict[str, str]:
        """The figures of the table for reading, by column."""
        predicted = self.prediction
        limit = predicted.requests_limit_per_s
        requests = "-" if limit is None else f"{_number(predicted.peak_requests_per_s)} of {limit:,.0f}"
        seconds = {name: getattr(predicted, name) for name in SECONDS}
        return {
            "count": f"{self.count:,}",
            **{name: _number(value, 2 if value is None or value >= 1 else 3) for name, value in seconds.items()},
            "time_to_n_s": _number(predicted.time_to_n_s),
            "share_at_n": f"{100 * predicted.share_at_n:.0f}",
            "most_at_once": f"{predicted.most_at_once:,}",
            "drain_s": _number(predicted.drain_s),
            "peak_requests_per_s": requests,
            "usd": f"{self.usd:,.2f}" if self.usd >= 1 else f"{self.usd:.4f}",
            "binds": predicted.bottleneck,
        }


def _rounded(value: Any) -> Any:
    return round(value, DIGITS) if isinstance(value, float) else value


def _number(value: float | None, digits: int = 0) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


def simulated_rows(
    experiment: Experiment, plan: Plan, cells: Sequence[PredictedCell], given: Given
) -> list[SimulatedRow]:
    """A row for each cell, its repeats in one, in the order of the report's table. The bill is of what is `given`
    beside the plan."""
    repeats_by_place: dict[Cell, list[PredictedCell]] = {}
    for predicted in cells:
        repeats_by_place.setdefault(predicted.demand.cell.place(), []).append(predicted)
    found: list[SimulatedRow] = []
    for place, repeats in repeats_by_place.items():
        alone = replace(plan, cells=tuple(predicted.demand.cell for predicted in repeats))
        row = SimulatedRow(
            place,
            count=sum(predicted.demand.cell.messages for predicted in repeats),
            usd=cost.estimate(alone, given=given).total_usd,
            prediction=repeats[0].prediction,
        )
        found += _by_kind(row, experiment, repeats[0].demand.cell.values) or [row]
    return sorted(found, key=lambda row: row.cell)


def _by_kind(row: SimulatedRow, experiment: Experiment, values: Mapping[str, Any]) -> list[SimulatedRow]:
    """The rows of the first operation of each environment, and of the later ones, of a cell with these values; none
    where records don't distinguish them, or no operation succeeds."""
    later = {axis.name: axis.later_of(values) for axis in experiment.axes if axis.later}
    if not later:
        return []
    predicted = row.prediction
    kinds = [("first", row.cell, predicted.of_first), ("later", row.cell.moved(later), predicted.of_later)]
    succeeded = predicted.of_first["count"] + predicted.of_later["count"]
    found = []
    for kind, cell, figures in kinds:
        if figures["count"]:
            share = figures["count"] / succeeded
            ranges = {**predicted.ranges, "avg_s": predicted.ranges.get(f"{kind}_avg_s")}
            of_kind = replace(predicted, **{name: figures[name] for name in SECONDS}, ranges=ranges)
            found.append(SimulatedRow(cell, round(share * row.count), share * row.usd, of_kind))
    return found


def print_simulated(experiment: Experiment, rows: Sequence[SimulatedRow], parameters: Parameters, form: str) -> None:
    """Print them on stdout as table, csv or json; in JSON with the ranges and the date of the parameters."""
    distinguished = distinguishing(row.cell for row in rows)
    variants = [axis.name for axis in experiment.axes if axis.is_variant and axis.name in distinguished]
    swept = [SETTINGS] if any(row.cell.settings for row in rows) else []
    names = [*published_columns(experiment), *variants, *swept, *FLOOD]
    date = max(parameters.row(name).date for name in parameters)
    if form == "json":
        tables.print_rows([_as_json(row, names) | {"parameters_date": date} for row in rows], form)
    elif form == "csv":
        figures = [row.figures() for row in rows]
        written = [
            {name: number_text(value) if isinstance(value, int | float) else value for name, value in row.items()}
            for row in figures
        ]
        tables.print_rows(written, form, names)
    else:
        _print_tables(experiment, rows, distinguished)
        for line in _caption(experiment, parameters, date):
            print(line)


def _as_json(row: SimulatedRow, names: Sequence[str]) -> dict[str, Any]:
    figures, predicted = row.figures(), row.prediction
    ranges = {name: predicted.ranges[name] for name in RANGED if predicted.ranges.get(name)}
    return {
        **{name: figures.get(name) for name in names},
        "requests_limit_per_s": predicted.requests_limit_per_s,
        "span_s": _rounded(predicted.span_s),
        "failed": predicted.failed,
        "dead_lettered": predicted.dead_lettered,
        "ranges": {name: [_rounded(end) for end in ends] for name, ends in ranges.items()},
    }


def _print_tables(experiment: Experiment, rows: Sequence[SimulatedRow], distinguished: Collection[str]) -> None:
    """Print as few tables as the terminal is wide enough for, each with the coordinates first."""
    coordinates = [
        Column(
            "\n".join((axis.unit or axis.label).rsplit(" ", 1)),
            [row.cell.text(axis) for row in rows],
            number=axis.kind is int,
            least=LEAST_TEXT,
        )
        for axis in experiment.axes
        if not axis.is_variant or axis.name in distinguished
    ]
    if SETTINGS in distinguished:
        coordinates.append(Column(SETTINGS, [row.cell.settings for row in rows], least=LEAST_TEXT))
    headings = {"count": "count", **{name: name.replace("_s", " s") for name in SECONDS}, **FLOOD}
    texts = [row.texts() for row in rows]
    figures = [
        Column(heading, [text[name] for text in texts], number=name != "binds", least=LEAST_TEXT)
        for name, heading in headings.items()
    ]
    width, kept = terminal.console().width, len(coordinates)
    while figures:
        shown, figures = tables.fitting([*coordinates, *figures], width, kept + 1)
        terminal.show(tables.grid(shown, width))
        print()


def _caption(experiment: Experiment, parameters: Parameters, date: str) -> list[str]:
    """How to read it, and what it rests on."""
    _, many = experiment.operation
    known = Counter(parameters.row(name).known for name in parameters)
    return [
        f"“time to N” is from the first start until N run at once, “in full overlap” the share of all {many}’ time "
        "from then until N last run at once, “peak conc.” the peak concurrency, and “drain” from the first message to "
        "the last record.",
        f"These are predictions of a model; nothing was measured. It has {len(parameters)} parameters as of "
        f"{date} ({listed([f'{count} {how}' for how, count in known.most_common()])}). "
        "--format json has the ranges.",
    ]
