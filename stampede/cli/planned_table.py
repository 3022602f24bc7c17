"""What `stampede sweep --dry-run` prints of a plan: a row a cell, in the order of the report's table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stampede import terminal
from stampede.cell import Cell
from stampede.model.prediction import Prediction
from stampede.phrases import counted, listed
from stampede.planning.plan import Plan
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


def print_plan(plan: Plan, predicted: Mapping[str, Prediction], form: str) -> None:
    """Print the cells on stdout; a table shows the repeats of a cell once, and what all cells have in common above it.

    `predicted` is what the model says of each cell, by its name.
    """
    cells = [cell for cell in sorted(plan.cells) if form != "table" or cell.repeat in (None, 1)]
    rows = [_row(cell, plan.swept, predicted.get(cell.name)) for cell in cells]
    if form == "table":
        _print_table(plan, rows)
    else:
        print_rows(rows, form)


def _row(cell: Cell, swept: Sequence[str], prediction: Prediction | None) -> dict[str, Any]:
    """A cell, its swept values as numbers or as --set takes them; without a prediction those figures are None."""
    row = {"cell": cell.name}
    row |= {name: _as_set(cell.setting(name)) for name in swept}
    row |= {name: getattr(cell, name) for name in ("warm_up_messages", "messages", "rounds")}
    if prediction is None:
        return row | dict.fromkeys(PREDICTED)
    avg_s = None if prediction.avg_s is None else round(prediction.avg_s, 4)
    return row | {"share_at_n": round(prediction.share_at_n, 3), "avg_s": avg_s, "binds": prediction.bottleneck}


def _as_set(value: Any) -> Any:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else hcl.text_of(value)


def _print_table(plan: Plan, rows: Sequence[dict[str, Any]]) -> None:
    varying = [name for name in plan.swept if len({str(row[name]) for row in rows}) > 1]
    terminal.tell(_order(plan, len(rows)))
    if same := [name for name in (*plan.swept, *plan.fixed) if name not in varying]:
        values = ", ".join(f"{name}={_as_set(plan.cells[0].setting(name))}" for name in same)
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
    order = f"in the order of the table; they run in an order shuffled by --seed {plan.seed}"
    if any(cell.rounds > 1 for cell in plan.cells):
        order += ", and those with rounds interleaved"
    return f"{counted(count, 'cell')}{times}, {order}"
