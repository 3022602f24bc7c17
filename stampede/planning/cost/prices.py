"""Prices of AWS by region, with their dates and sources, from prices.json. Nothing is asked of the
network."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("prices.json")
# Of whose prices most is known: they stand for a region's that aren't.
USUAL_REGION = "us-east-1"


@dataclass(frozen=True)
class Price:
    """US dollars for one `unit` in `region`, as of a month (YYYY-MM); `usd` None means that nobody
    here knows it."""

    usd: float | None
    unit: str
    as_of: str | None
    source: str
    region: str = USUAL_REGION


@dataclass(frozen=True)
class Prices:
    """The prices of one region, by name; each says whose it is where the region's own isn't
    known."""

    region: str
    by_name: Mapping[str, Price]

    def __getitem__(self, name: str) -> Price:
        """A price; `<what>:<kind>` without one of its own has that of `<what>`. Raises KeyError
        where there is none."""
        return self.by_name.get(name) or self.by_name[name.partition(":")[0]]

    @property
    def known_usd(self) -> dict[str, float]:
        """US dollars for one unit, by name, where they are known."""
        return {name: price.usd for name, price in self.by_name.items() if price.usd is not None}

    @property
    def date(self) -> str:
        """The month of the oldest price: every price is at least as recent."""
        return min(price.as_of for price in self.by_name.values() if price.as_of)


def read_prices(region: str = USUAL_REGION, day: str | None = None, file: Path = FILE) -> Prices:
    """The prices of `region` on `day` (YYYY-MM or YYYY-MM-DD; None: the latest that are known).

    A price that isn't known there and then is that of us-east-1, and one that isn't known there
    either has no usd.
    """
    stored = json.loads(file.read_text())["regions"]
    usual = {name: _on(day, entry, USUAL_REGION) for name, entry in stored[USUAL_REGION].items()}
    own = {name: _on(day, entry, region) for name, entry in stored.get(region, {}).items()}
    return Prices(
        region, usual | {name: price for name, price in own.items() if price.usd is not None}
    )


def _on(day: str | None, entry: Mapping[str, Any], region: str) -> Price:
    """The price that was known last on `day`; one of no usd where it became known later."""
    latest = {name: value for name, value in entry.items() if name != "before"}
    known = [
        price
        for price in [*entry.get("before", []), latest]
        if day is None or (price["as_of"] or "9999") <= day[:7]
    ]
    return Price(**(known[-1] if known else latest | {"usd": None, "as_of": None}), region=region)
