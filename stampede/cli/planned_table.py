"""What `stampede sweep --dry-run` prints of a plan: a row a cell, in the order of the matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stampede import terminal
from stampede.model.prediction import Prediction
from stampede.phrases import counted, listed
from stampede.planning.demand import Demand
from stampede.planning.plan import Cell, Plan, cell_name
from stampede.stacks import hcl
from stampede.tables import print_rows

PREDICTED = ("share_at_n", "avg_s", "binds")
HEADINGS = {
    "warm_up_messages": "warm-up\nmessages",
    "share_at_n": "in full\noverlap %",
    "avg_s": "avg s",
    "binds": "bottleneck",
}
# A name of more letters is written on two lines over its column.
LONG_NAME = 12


def print_plan(plan: Plan, demands: Sequence[Demand], predicted: Mapping[str, Prediction], form: str) -> None:
    """Print the cells on stdout; a table shows the repeats of a cell once, and what all cells have in common above it.

    `demands` and `predicted` are what each cell takes and what the model says of it, by the cell's name.
    """
    demand_of = {demand.name: demand for demand in demands}
    places = {cell_name(coordinates): place for place, coordinates in enumerate(plan.combinations())}
    cells = sorted(plan.cells(), key=lambda cell: (places[cell_name(cell.coordinates)], cell.repeat))
    cells = [cell for cell in cells if form != "table" or cell.repeat == 1]
    rows = [_row(cell, demand_of[cell.name], predicted.get(cell.name)) for cell in cells]
    if form == "table":
        _print_table(plan, rows)
    else:
        print_rows(rows, form)


def _row(cell: Cell, demand: Demand, prediction: Prediction | None) -> dict[str, Any]:
    """A cell, its coordinates as numbers or as --set takes them; without a prediction those figures are None."""
    row = {"cell": cell.name}
    row |= {name: _as_set(value) for name, value in cell.coordinates.items()}
    row |= {"warm_up_messages": demand.warm_up_messages, "messages": demand.messages, "rounds": demand.rounds}
    if prediction is None:
        return row | dict.fromkeys(PREDICTED)
    avg_s = None if prediction.avg_s is None else round(prediction.avg_s, 4)
    return row | {"share_at_n": round(prediction.share_at_n, 3), "avg_s": avg_s, "binds": prediction.bottleneck}


def _as_set(value: Any) -> Any:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else hcl.text_of(value)


def _print_table(plan: Plan, rows: Sequence[dict[str, Any]]) -> None:
    swept = list(dict.fromkeys(name for coordinates in plan.combinations() for name in coordinates))
    varying = [name for name in swept if len({str(row.get(name)) for row in rows}) > 1]
    terminal.tell(_order(plan, len(rows)))
    if same := {name: rows[0][name] for name in swept if name not in varying} | plan.fixed:
        values = ", ".join(f"{name}={_as_set(value)}" for name, value in same.items())
        terminal.tell(f"{'the same in all cells' if varying else 'settings'}: {values}")
    print()
    figures = [name for name in ("warm_up_messages", "messages", *PREDICTED) if any(row[name] for row in rows)]
    if any(row["rounds"] > 1 for row in rows):
        figures.insert(figures.index("messages") + 1, "rounds")
    texts = []
    for row in rows:
        share, avg_s = row["share_at_n"], row["avg_s"]
        text = row | {name: f"{row[name]:,}" for name in ("warm_up_messages", "messages")}
        text["share_at_n"] = None if share is None else round(100 * share)
        text["avg_s"] = None if avg_s is None else f"{avg_s:.2f}" if avg_s >= 1 else f"{avg_s:.3f}"
        texts.append(text)
    headings = {name: name.replace("_", "\n_", 1) for name in varying if len(name) > LONG_NAME}
    print_rows(texts, "table", [*varying, *figures], headings | HEADINGS)
    if predicted := [f"“{HEADINGS[name]}”".replace("\n", " ") for name in PREDICTED if name in figures]:
        print(f"\n{listed(predicted)} are predictions of a model; nothing was measured.")
    print()


def _order(plan: Plan, count: int) -> str:
    """How many cells there are and how they run, in a line."""
    times = f", each {plan.repeats} times" if plan.repeats > 1 else ""
    if count * plan.repeats == 1:
        return counted(count, "cell")
    order = f"in the order of the matrix; they run in an order shuffled by --seed {plan.seed}"
    if plan.rounds:
        order += ", and those with rounds interleaved"
    return f"{counted(count, 'cell')}{times}, {order}"
