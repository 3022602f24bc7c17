"""Which planned cells of a run were never finished, and what to do about it."""

from itertools import product
from typing import Any

from report.phrases import listed
from report.run import Run

# A sentence that names more than this is not read to its end.
NAMED = 6


def unfinished(run: Run) -> list[str]:
    """The ids of the planned cells that run.json doesn't list as finished, in the order of the plan."""
    cells = run.manifest.get("cells")
    finished = {str(cell.get("cell")) for cell in (cells if isinstance(cells, list) else []) if isinstance(cell, dict)}
    return [cell for cell in planned(run) if cell not in finished]


def planned(run: Run) -> list[str]:
    """The ids of the planned cells: `order` of the plan, or for older runs the product of what was swept."""
    plan = run.manifest.get("plan")
    if not isinstance(plan, dict):
        return []
    order = plan.get("order")
    if isinstance(order, list):
        return [str(cell) for cell in order]
    swept = plan.get("swept")
    if not isinstance(swept, dict) or not all(isinstance(values, list) for values in swept.values()) or not swept:
        return []
    return [_id(dict(zip(swept, values, strict=True))) for values in product(*swept.values())]


def sentences(run: Run) -> list[str]:
    """What must be said at the top of the page; [] for a run whose plan was carried out, or that had none."""
    missing = unfinished(run)
    if not missing:
        return []
    named = [run.cell_words(cell) for cell in missing[:NAMED]]
    more = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
    which = f"{', '.join(named)}{more}" if more else listed(named)
    were = "was" if len(missing) == 1 else "were"
    return [
        f"{len(missing)} of {len(planned(run))} planned cells {were} not finished: {which}. Their figures are missing "
        f"or partial; `stampede sweep {run.experiment} --resume {run.run_id}` goes on with them."
    ]


def _id(cell: dict[str, Any]) -> str:
    return ",".join(f"{name}={value}" for name, value in cell.items())
