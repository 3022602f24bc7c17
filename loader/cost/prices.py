"""Prices of AWS, with their dates and sources, from prices.json. Pure data: nothing is asked of the network."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("prices.json")


@dataclass(frozen=True)
class Price:
    """US dollars for one `unit`, as of a month (YYYY-MM); `usd` None means that nobody here knows it."""

    usd: float | None
    unit: str
    as_of: str | None
    source: str


@dataclass(frozen=True)
class Prices:
    """The prices of one region, by name."""

    region: str
    by_name: Mapping[str, Price]

    def __getitem__(self, name: str) -> Price:
        """A price; `<what>:<kind>` without one of its own has that of `<what>`. Raises KeyError where there is none."""
        return self.by_name.get(name) or self.by_name[name.partition(":")[0]]

    @property
    def known_usd(self) -> dict[str, float]:
        """US dollars for one unit, by name, where they are known."""
        return {name: price.usd for name, price in self.by_name.items() if price.usd is not None}

    @property
    def date(self) -> str:
        """The month of the oldest price: every price is at least as recent."""
        return min(price.as_of for price in self.by_name.values() if price.as_of)


def read_prices(file: Path = FILE) -> Prices:
    """The prices of us-east-1."""
    stored = json.loads(file.read_text())
    return Prices(stored["region"], {name: Price(**price) for name, price in stored["prices"].items()})
