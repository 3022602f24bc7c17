"""What `stampede simulate` prints: a row a cell, with the columns of the experiment's table and then the model's."""

from __future__ import annotations

import csv
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from experiments import Experiment
from stampede import terminal
from stampede.model.parameters import Parameters
from stampede.model.prediction import RANGED, Prediction
from stampede.phrases import listed
from stampede.planning import cost
from stampede.planning.plan import Cell, Plan
from stampede.planning.predicting import Given, PredictedCell
from stampede.runs.cell_key import SETTINGS, Key, distinguishing
from stampede.runs.cell_settings import CellSettings
from stampede.runs.cells import SECONDS, number_text, published_columns

# What is said of the flood, and how it is headed in a table.
FLOOD = {
    "time_to_n_s": "time\nto N s",
    "share_at_n": "time at\nfull N %",
    "most_at_once": "peak\nconc.",
    "drain_s": "drain\ns",
    "peak_requests_per_s": "requests/s,\npeak of limit",
    "usd": "USD",
    "binds": "bottleneck",
}
# What the model says beside the columns of the table.
ADDED = (*FLOOD, "advice")
# More digits say nothing, and the last ones of a logarithm may differ from machine to machine.
DIGITS = 6
# To which the last column may be folded on a terminal, so that its words aren't a letter wide.
BOTTLENECK_WIDTH = 20


@dataclass(frozen=True)
class SimulatedRow:
    """A cell with all its repeats: its coordinates, how many operations, what the model says and what it costs.

    Where records tell the first operation of an environment from later ones, each kind has a row with its own seconds
    and its part of the bill; the other figures are the cell's.
    """

    key: Key
    count: int
    usd: float
    prediction: Prediction

    def figures(self) -> dict[str, Any]:
        """By column, coordinates and all; None for what there isn't."""
        predicted = self.prediction.as_dict()
        own = {name: _rounded(predicted[name]) for name in (*SECONDS, *ADDED) if name != "usd"}
        return {**self.key.figures(), "count": self.count, "usd": _rounded(self.usd), **own}


def rows(
    experiment: Experiment, plan: Plan, cells: Sequence[PredictedCell], defaults: Mapping[str, Any], given: Given
) -> list[SimulatedRow]:
    """A row for each cell, its repeats in one, in the order of the report's table. The bill is of what is `given`
    beside the plan."""
    settings = CellSettings({"experiment": experiment.name, "plan": plan.as_dict()})
    found: dict[Key, list[PredictedCell]] = {}
    for one in cells:
        found.setdefault(key_of(experiment, one, settings.others(one.cell.name)), []).append(one)
    return sorted(
        (row for key, repeats in found.items() for row in _rows_of(experiment, plan, key, repeats, defaults, given)),
        key=lambda row: row.key,
    )


def _rows_of(
    experiment: Experiment,
    plan: Plan,
    key: Key,
    repeats: Sequence[PredictedCell],
    defaults: Mapping[str, Any],
    given: Given,
) -> Iterator[SimulatedRow]:
    """A cell's row, or its rows."""
    count, told = sum(one.demand.messages for one in repeats), repeats[0].prediction
    usd = cost.estimate(only(plan, repeats[0].cell), defaults, given=given).total_usd
    later = {axis.name: axis.later(repeats[0].demand.values) for axis in experiment.axes if axis.later}
    of_later = replace(key, values=tuple(later.get(axis.name, key[axis.name]) for axis in key.axes))
    kinds = [("first", key, told.of_first), ("later", of_later, told.of_later)] if later else []
    kinds = [(kind, its_key, seconds) for kind, its_key, seconds in kinds if seconds["count"]]
    if not kinds:  # they are all alike, or none succeeds
        yield SimulatedRow(key, count, usd, told)
    for kind, its_key, seconds in kinds:
        share = seconds["count"] / sum(one["count"] for _, _, one in kinds)
        ranges = {**told.ranges, "avg_s": told.ranges.get(f"{kind}_avg_s")}
        its = replace(told, **{name: seconds[name] for name in SECONDS}, ranges=ranges)
        yield SimulatedRow(its_key, round(share * count), share * usd, its)


def key_of(experiment: Experiment, one: PredictedCell, settings: str = "") -> Key:
    """The coordinates of a cell as its records would have them."""
    values = (one.demand.values.get(axis.variable) for axis in experiment.axes)
    return Key.of(experiment.axes, values, settings)


def only(plan: Plan, cell: Cell) -> Plan:
    """The plan of one cell alone, with its repeats."""
    return replace(plan, swept={name: [value] for name, value in cell.coordinates.items()}, also=[], order=[])


def columns(experiment: Experiment, rows: Sequence[SimulatedRow]) -> list[str]:
    """Those of the published table, the axes with a default from which a cell departs, then the model's."""
    told = distinguishing(row.key for row in rows)
    ways = [axis.name for axis in experiment.axes if axis.is_variant and axis.name in told]
    swept = [SETTINGS] if any(row.key.settings for row in rows) else []
    return [*published_columns(experiment), *ways, *swept, *ADDED]


def print_rows(experiment: Experiment, rows: Sequence[SimulatedRow], parameters: Parameters, form: str) -> None:
    """Print them on stdout as table, csv or json; in JSON with the ranges and what the parameters are of."""
    names = columns(experiment, rows)
    if form == "json":
        found = [_as_json(row, names, parameters) for row in rows]
        print(json.dumps(found, indent=2, allow_nan=False))
    elif form == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(names)
        writer.writerows([_text(row.figures().get(name)) for name in names] for row in rows)
    else:
        _print_table(experiment, rows, parameters)


def _as_json(row: SimulatedRow, names: Sequence[str], parameters: Parameters) -> dict[str, Any]:
    figures = row.figures()
    ends = row.prediction.ranges
    ranges = {name: [_rounded(end) for end in ends[name]] for name in RANGED if ends.get(name)}
    return {
        **{name: figures.get(name) for name in names},
        "requests_limit_per_s": row.prediction.requests_limit_per_s,
        "span_s": _rounded(row.prediction.span_s),
        "failed": row.prediction.failed,
        "dead_lettered": row.prediction.dead_lettered,
        "ranges": ranges,
        "parameters_date": parameters_date(parameters),
    }


def parameters_date(parameters: Parameters) -> str:
    """The date of the newest of them."""
    return max(parameters.row(name).date for name in parameters)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else number_text(value)


def _rounded(value: Any) -> Any:
    return round(value, DIGITS) if isinstance(value, float) else value


def _print_table(experiment: Experiment, rows: Sequence[SimulatedRow], parameters: Parameters) -> None:
    console = terminal.console()
    for names in _fitting(console, experiment, rows):
        terminal.show(_table(experiment, rows, names))
        print()
    for line in (*_advice(rows), *_caption(experiment, parameters)):
        print(line)


def _fitting(console: Console, experiment: Experiment, rows: Sequence[SimulatedRow]) -> list[list[str]]:
    """The columns beside the coordinates, in as few tables as the console is wide enough for."""
    endless = console.options.update(width=9999)

    def width(names: Sequence[str]) -> int:
        figures = [name for name in names if name != "binds"]
        own = Measurement.get(console, endless, _table(experiment, rows, figures)).maximum
        return own + (1 + BOTTLENECK_WIDTH if "binds" in names else 0)

    found: list[list[str]] = [[]]
    for name in ("count", *SECONDS, *FLOOD):
        if found[-1] and width([*found[-1], name]) > console.width:
            found.append([])
        found[-1].append(name)
    return found


def _table(experiment: Experiment, rows: Sequence[SimulatedRow], names: Sequence[str]) -> Table:
    told = distinguishing(row.key for row in rows)
    axes = [axis for axis in experiment.axes if not axis.is_variant or axis.name in told]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for axis in axes:
        name = "\n".join((axis.unit or axis.label).rsplit(" ", 1))
        if axis.kind is int:
            table.add_column(name, justify="right", no_wrap=True)
        else:
            table.add_column(name, overflow="fold")
    if SETTINGS in told:
        table.add_column(SETTINGS, overflow="fold")
    for name in names:
        if name == "binds":
            table.add_column(FLOOD[name], overflow="fold")
        else:
            table.add_column(FLOOD.get(name, name.replace("_s", " s")), justify="right", no_wrap=True)
    for row in rows:
        settings = [row.key.settings] if SETTINGS in told else []
        shown = _shown(row)
        table.add_row(
            *(row.key.text(axis) for axis in axes),
            *settings,
            *(shown[name] for name in names),
        )
    return table


def _shown(row: SimulatedRow) -> dict[str, str]:
    one = row.prediction
    limit = "" if one.requests_limit_per_s is None else f" of {one.requests_limit_per_s:,.0f}"
    return {
        "count": f"{row.count:,}",
        **{name: _seconds(getattr(one, name)) for name in SECONDS},
        "time_to_n_s": _number(one.time_to_n_s, 0),
        "share_at_n": f"{100 * one.share_at_n:.0f}",
        "most_at_once": f"{one.most_at_once:,}",
        "drain_s": _number(one.drain_s, 0),
        "peak_requests_per_s": f"{_number(one.peak_requests_per_s, 0)}{limit}" if limit else "-",
        "usd": f"{row.usd:,.2f}" if row.usd >= 1 else f"{row.usd:.4f}",
        "binds": one.bottleneck,
    }


def _seconds(value: float | None) -> str:
    return _number(value, 2 if value is None or value >= 1 else 3)


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


def _advice(rows: Sequence[SimulatedRow]) -> list[str]:
    """What to change, the cells with the same advice together."""
    cells: dict[str, list[str]] = {}
    for row in rows:
        if row.prediction.advice:
            cells.setdefault(row.prediction.advice, []).append(row.key.words)
    return [f"{_named(words, len(rows))}: {_sentences(advice)}" for advice, words in cells.items()]


def _named(cells: Sequence[str], of: int) -> str:
    """The cells, or the first two and how many more; `of` is how many there are in all."""
    if len(cells) == of > 2:
        return f"all {of} cells"
    more = f" and {len(cells) - 2} more" if len(cells) > 3 else ""
    return "; ".join(cells[:2] if more else cells) + more


def _sentences(advice: str) -> str:
    return " ".join(f"{clause[0].upper()}{clause[1:]}." for clause in advice.split("; "))


def _caption(experiment: Experiment, parameters: Parameters) -> list[str]:
    """How to read it, and what it rests on."""
    _, many = experiment.operation
    known = Counter(parameters.row(name).known for name in parameters)
    return [
        f"“time to N” is from the first start until N run at once, “time at full N” a share of all {many}’ time, "
        "“peak conc.” the peak concurrency, and “drain” from the first message to the last record"
        + ("." if parameters.place == "aws" else "; USD is what the same would cost on AWS."),
        f"These are predictions of a model; nothing was measured. It has {len(parameters)} parameters as of "
        f"{parameters_date(parameters)} ({listed([f'{count} {how}' for how, count in known.most_common()])}). "
        "--format json has the ranges.",
    ]
