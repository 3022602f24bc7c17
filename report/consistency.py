"""Sets the rows of the saved query against figures computed from the records by other code."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from report import cells
from report.run import cell_words
from report.spread import Spread

# Both sides add and interpolate the same doubles, in another order: they agree to rounding, nothing looser.
RELATIVE_TOLERANCE = 1e-9


def disagreements(rows: Iterable[Mapping[str, Any]], spreads: Mapping[tuple[int, int], Spread]) -> list[str]:
    """One sentence for every figure on which the query's `rows` and the records' `spreads` differ."""
    found: list[str] = []
    seen: set[tuple[int, int]] = set()
    for row in map(cells.checked, rows):
        key = (int(row["memory_size_mb"]), int(row["concurrency"]))
        if key in seen:
            found.append(f"{cell_words(key)}: the saved query has more than one row.")
            continue
        seen.add(key)
        own = spreads.get(key)
        if own is None:
            found.append(f"{cell_words(key)}: the saved query has a row, the records have no download.")
            continue
        found += [
            f"{cell_words(key)}: the saved query says {name} = {cells.number_text(row[name])}, "
            f"the records say {cells.number_text(getattr(own, name))}."
            for name in ("count", *cells.SECONDS)
            if not math.isclose(row[name], getattr(own, name), rel_tol=RELATIVE_TOLERANCE, abs_tol=1e-12)
        ]
    found += [
        f"{cell_words(key)}: the records have {spreads[key].count} downloads, the saved query has no row."
        for key in sorted(spreads.keys() - seen)
    ]
    return found
