"""Sets the rows of the saved query against figures computed from the records by other code."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from experiments import Experiment
from stampede.cell import Cell
from stampede.runs import cells
from stampede.runs.spread import Spread

# Both sides add the same doubles, in another order: they agree to rounding, nothing looser.
RELATIVE_TOLERANCE = 1e-9
# From so many distinct values on, a percentile of a saved query is the lower edge of a bin of this width:
# docs/insights.md, "Percentiles".
BINNED_FROM, BIN = 100, 1.001


def disagreements(
    experiment: Experiment,
    rows: Iterable[Mapping[str, Any]],
    spreads: Mapping[Cell, Spread],
    metrics: Mapping[Cell, Mapping[str, Any]] | None = None,
) -> list[str]:
    """One sentence for every figure on which the query's `rows` differ from the records' `spreads` and `metrics`; what
    either of them lacks isn't compared.
    """
    sentences: list[str] = []
    seen: set[Cell] = set()
    for row in (cells.checked(row, experiment) for row in rows):
        key = Cell.of_figures(experiment.axes, row)
        if key in seen:
            sentences.append(f"{key.words}: the saved query returned more than one row.")
            continue
        seen.add(key)
        own = spreads.get(key)
        if own is None:
            sentences.append(
                f"{key.words}: the saved query returned a row, but the records have no {experiment.operation[0]}."
            )
            continue
        took = (metrics or {}).get(key, {})
        pairs = {"count": own.count} | cells.seconds(own)
        pairs |= {metric.name: took.get(metric.name) for metric in cells.taken(experiment)}
        for name, value in pairs.items():
            if row[name] is not None and value is not None and not _agree(name, row[name], value, own):
                sentences.append(
                    f"{key.words}: the saved query returned {name} = {cells.number_text(row[name])}, but the records "
                    f"give {cells.number_text(value)}."
                )
    sentences += [
        f"{key.words}: the records have {spreads[key].count} {experiment.operation[1]}, but the saved query returned "
        "no row."
        for key in sorted(spreads.keys() - seen)
    ]
    return sentences


def _agree(name: str, queried: float, counted: float, own: Spread) -> bool:
    """Whether the query's figure is that of the records; a quartile may be its bin's lower edge, or interpolated, as it
    is in a cells.csv of before there were bins."""
    if _alike(queried, counted):
        return True
    if name not in ("p25_s", "p75_s"):
        return False
    in_bin = own.distinct >= BINNED_FROM and counted / BIN < queried * (1 + RELATIVE_TOLERANCE) < counted
    return in_bin or _alike(queried, getattr(own, name))


def _alike(queried: float, counted: float) -> bool:
    return math.isclose(queried, counted, rel_tol=RELATIVE_TOLERANCE, abs_tol=1e-12)
