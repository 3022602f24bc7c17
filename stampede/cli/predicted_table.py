"""The cells of a plan with what the model says of them: as `stampede simulate` prints them, with the answer in a line,
and as `stampede sweep --dry-run` does."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from experiments import EXPERIMENTS, Axis, Experiment
from stampede import terminal
from stampede.cell import SETTINGS, Cell, distinguishing
from stampede.model.parameters import Parameters
from stampede.model.prediction import RANGED, Prediction
from stampede.phrases import capitalised, counted, dollars, duration, minutes, percent, significant
from stampede.planning import cost
from stampede.planning.cost import Estimate
from stampede.planning.plan import Plan
from stampede.planning.predicting import Given, PredictedCell
from stampede.runs.cells import published_columns
from stampede.stacks import hcl
from stampede.tables import Field, Row, Table

# The model's own columns in CSV and JSON, behind those of the experiment's table; and what JSON alone has.
FLOOD = ("time_to_n_s", "share_at_n", "most_at_once", "drain_s", "peak_requests_per_s", "usd", "binds")
IN_JSON = ("requests_limit_per_s", "span_s", "failed", "dead_lettered", "ranges", "parameters_date")
# More digits say nothing, and the last ones of a logarithm may differ from machine to machine.
DIGITS = 6
# The rank of what only --wide prints.
WIDE = 7

whole = "{:,}".format
AVERAGE = Field("avg_s", "mean", "s", significant, rank=1)
SHARE = Field("share_at_n", "share\nat N", "%", percent, rank=3)
BOTTLENECK = Field("binds", "bottleneck", is_text=True, rank=4)
FIGURES = (
    Field("count", "count", show=whole, rank=WIDE),
    Field("min_s", "min", "s", significant, rank=WIDE),
    Field("p25_s", "p25", "s", significant, rank=WIDE),
    AVERAGE,
    Field("p75_s", "p75", "s", significant, rank=WIDE),
    Field("max_s", "max", "s", significant, rank=WIDE),
    Field("time_to_n_s", "time\nto N", "s", significant, rank=2),
    SHARE,
    Field("most_at_once", "peak\nconc.", show=whole, rank=WIDE),
    Field("drain_s", "drain", "s", significant, rank=6),
    Field("peak_requests_per_s", "peak", "requests/s", significant, rank=WIDE),
    Field("requests_limit_per_s", "limit", "requests/s", significant, rank=WIDE),
    Field("usd", "USD", show=dollars, rank=5),
    BOTTLENECK,
)
PREDICTIONS = "These are predictions of a model; nothing was measured."
CAPTION = (PREDICTIONS, "--wide has all figures, --format json their ranges too.")


@dataclass(frozen=True)
class PredictedRow:
    """A cell with all its repeats: its coordinates, what the model says, and what it costs.

    Where records distinguish the first operation of an environment from later ones, each kind has a row with its own
    count, seconds and part of the bill; the other figures are the cell's.
    """

    cell: Cell
    prediction: Prediction
    usd: float

    def figures(self) -> dict[str, Any]:
        """By column, coordinates and all; None for what there isn't."""
        predicted, ranges = self.prediction.as_dict() | {"usd": self.usd}, self.prediction.ranges
        ends = {name: list(map(_rounded, ranges[name])) for name in RANGED if ranges.get(name)}
        return self.cell.figures() | {name: _rounded(value) for name, value in predicted.items()} | {"ranges": ends}


def _rounded(value: Any) -> Any:
    return round(value, DIGITS) if isinstance(value, float) else value


def predicted_rows(plan: Plan, cells: Sequence[PredictedCell], given: Given) -> list[PredictedRow]:
    """A row for each cell, its repeats in one, in the order of the report's table. The bill is of what is `given`
    beside the plan."""
    repeats_by_place: dict[Cell, list[PredictedCell]] = defaultdict(list)
    for predicted in cells:
        repeats_by_place[predicted.demand.cell.place()].append(predicted)
    rows: list[PredictedRow] = []
    for place, repeats in repeats_by_place.items():
        planned = tuple(predicted.demand.cell for predicted in repeats)
        prediction = replace(repeats[0].prediction, count=sum(cell.messages for cell in planned))
        row = PredictedRow(place, prediction, cost.estimate(replace(plan, cells=planned), given=given).total_usd)
        axes = [axis for axis in EXPERIMENTS[plan.experiment].axes if axis.later]
        later = {axis.name: axis.later_of(planned[0].values) for axis in axes}
        rows += _by_kind(row, place.moved(later)) if later else [row]
    return sorted(rows, key=lambda row: row.cell)


def _by_kind(row: PredictedRow, later: Cell) -> list[PredictedRow]:
    """The rows of the first operation of each environment, and of the `later` ones, as far as they succeed; the row
    itself where none does."""
    predicted, rows = row.prediction, []
    kinds = {"first": (row.cell, predicted.of_first), "later": (later, predicted.of_later)}
    succeeded = sum(figures["count"] for _, figures in kinds.values())
    for kind, (cell, figures) in kinds.items():
        if figures["count"]:
            share = figures["count"] / succeeded
            ranges = {**predicted.ranges, "avg_s": predicted.ranges.get(f"{kind}_avg_s")}
            own = {**figures, "count": round(share * predicted.count), "ranges": ranges}
            rows.append(PredictedRow(cell, replace(predicted, **own), share * row.usd))
    return rows or [row]


def headline(experiment: Experiment, rows: Sequence[PredictedRow], estimated: Estimate) -> str:
    """What comes of the largest N, and of the whole sweep, in a sentence."""
    n = max(row.cell.n for row in rows)
    largest = [row.prediction for row in rows if row.cell.n == n]
    times = [predicted.time_to_n_s for predicted in largest]
    averages = [predicted.avg_s for predicted in largest]
    bottlenecks = {predicted.bottleneck for predicted in largest}
    parts = []
    if None in times:
        most = _span([predicted.most_at_once for predicted in largest], whole)
        parts.append(f"at most {most} of N = {n:,} run at once")
    elif n > 1:
        parts.append(f"N = {n:,} is reached after {_span(times, duration)}")
    if None not in averages:
        parts.append(f"{experiment.operation[1]} take {_span(averages)} s")
    costs = "" if estimated.unpriced else f" and costs {dollars(estimated.total_usd)} USD"
    parts.append(f"the sweep takes {minutes(estimated.total_s)}{costs}")
    if len(bottlenecks) == 1:
        parts.append(f"the bottleneck is {bottlenecks.pop()}")
    return f"{capitalised('; '.join(parts))}."


def _span(values: Sequence[float], show: Callable[[Any], str] = significant) -> str:
    """`12.9`, or `12.8 to 12.9` where they differ."""
    return " to ".join(dict.fromkeys(map(show, (min(values), max(values)))))


def print_simulated(
    experiment: Experiment, rows: Sequence[PredictedRow], parameters: Parameters, form: str, wide: bool
) -> None:
    """Print them on stdout: as a table, `wide` with every figure; as csv; or as json, with the ranges and the date of
    the parameters."""
    date = max(parameters.row(name).date for name in parameters)
    figures = [row.figures() | {"parameters_date": date} for row in rows]
    distinguished = distinguishing(row.cell for row in rows)
    axes = [axis for axis in experiment.axes if not axis.is_variant or axis.name in distinguished]
    variants = [axis.name for axis in axes if axis.is_variant]
    settings = [SETTINGS] if any(SETTINGS in row for row in figures) else []
    names = [*published_columns(experiment), *variants, *settings, *FLOOD, *(IN_JSON if form == "json" else ())]
    fields = _for_reading(axes, figures, wide) if form == "table" else list(map(Field, names))
    Table("simulated", "Predictions", fields, figures, CAPTION).print(form)


def _for_reading(axes: Sequence[Axis], figures: Sequence[Row], wide: bool) -> list[Field]:
    """N and the coordinates in which rows differ, then the figures."""
    fields = [*map(_coordinate, axes), Field(SETTINGS, SETTINGS, is_text=True)]
    values = {field.name: {row.get(field.name) for row in figures} for field in fields}
    shown = [field for field in fields if field.heading == "N" or len(values[field.name]) > 1]
    return shown + [field for field in FIGURES if wide or field.rank < WIDE]


def _coordinate(axis: Axis) -> Field:
    is_text = axis.kind is str
    return Field(axis.name, axis.label.replace(" ", "\n"), axis.unit, str if is_text else whole, is_text)


def print_plan(plan: Plan, predicted: Mapping[str, Prediction], form: str) -> None:
    """Print the cells of a plan on stdout, with what the model says of each by its name; a table shows the repeats of a
    cell once, and what all cells have in common above it."""
    cells = [cell for cell in sorted(plan.cells) if form != "table" or cell.repeat in (None, 1)]
    rows = [_planned(cell, plan.swept, predicted.get(cell.name)) for cell in cells]
    fields = list(map(Field, rows[0]))
    if form == "table":
        varying = [name for name in plan.swept if len({str(row[name]) for row in rows}) > 1]
        common = [name for name in (*plan.swept, *plan.fixed) if name not in varying]
        same = ", ".join(f"{name}={hcl.text_of(plan.cells[0].setting(name))}" for name in common)
        times = f", each {plan.repeats} times" if plan.repeats > 1 else ""
        terminal.tell(f"{counted(len(rows), 'cell')}{times}; in all of them: {same}\n")
        in_rounds = ("rounds",) if any(cell.rounds > 1 for cell in cells) else ()
        names = (*varying, "warm_up_messages", "messages", *in_rounds)
        texts = [name for name in names if isinstance(rows[0][name], str)]
        fields = [Field(name, name.replace("_", "\n_", 1), show=_number, is_text=name in texts) for name in names]
        fields = [field for field in (*fields, SHARE, AVERAGE, BOTTLENECK) if any(row[field.name] for row in rows)]
    Table("plan", "Plan", fields, rows, (PREDICTIONS,) if predicted else ()).print(form)


def _planned(cell: Cell, swept: Sequence[str], prediction: Prediction | None) -> dict[str, Any]:
    """A cell, its swept values as numbers or as --set takes them; without a prediction those figures are None."""
    values = {name: cell.setting(name) for name in swept}
    row = {"cell": cell.name}
    row |= {name: value if type(value) in (int, float) else hcl.text_of(value) for name, value in values.items()}
    row |= {name: getattr(cell, name) for name in ("warm_up_messages", "messages", "rounds")}
    if prediction is None:
        return row | {"share_at_n": None, "avg_s": None, "binds": None}
    avg_s = None if prediction.avg_s is None else round(prediction.avg_s, 4)
    return row | {"share_at_n": round(prediction.share_at_n, 3), "avg_s": avg_s, "binds": prediction.bottleneck}


def _number(value: Any) -> str:
    return value if isinstance(value, str) else whole(value)
