"""Sets the rows of the saved query against figures computed from the records by other code."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from report import cells
from report.measured import Client
from report.spread import Spread
from report.ways import Key, key_of_figures, key_words

# Both sides add and interpolate the same doubles, in another order: they agree to rounding, nothing looser.
RELATIVE_TOLERANCE = 1e-9


def disagreements(
    rows: Iterable[Mapping[str, Any]], spreads: Mapping[Key, Spread], clients: Mapping[Key, Client] | None = None
) -> list[str]:
    """One sentence for every figure on which the query's `rows` differ from the records' `spreads` and `clients`; what
    either of them doesn't know isn't compared.
    """
    found: list[str] = []
    seen: set[Key] = set()
    for row in map(cells.checked, rows):
        key = key_of_figures(row)
        if key in seen:
            found.append(f"{key_words(key)}: the saved query has more than one row.")
            continue
        seen.add(key)
        own = spreads.get(key)
        if own is None:
            found.append(f"{key_words(key)}: the saved query has a row, the records have no download.")
            continue
        found += [
            f"{key_words(key)}: the saved query says {name} = {cells.number_text(row[name])}, "
            f"the records say {cells.number_text(getattr(own, name))}."
            for name in ("count", *cells.SECONDS)
            if not _alike(row[name], getattr(own, name))
        ]
        took = (clients or {}).get(key)
        found += [
            f"{key_words(key)}: the saved query says {name} = {cells.number_text(row[name])}, "
            f"the records say {cells.number_text(getattr(took, name))}."
            for name in cells.CLIENT
            if row[name] is not None and getattr(took, name, None) is not None
            if not _alike(row[name], getattr(took, name))
        ]
    found += [
        f"{key_words(key)}: the records have {spreads[key].count} downloads, the saved query has no row."
        for key in sorted(spreads.keys() - seen)
    ]
    return found


def _alike(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=RELATIVE_TOLERANCE, abs_tol=1e-12)
