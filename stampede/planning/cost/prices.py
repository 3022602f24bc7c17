"""Prices of AWS by region, with their dates and sources, from prices.json, without the network."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("prices.json")
# Most prices are known of this region; they stand in for unknown ones of other regions.
USUAL_REGION = "us-east-1"


@dataclass(frozen=True)
class Price:
    """US dollars for one `unit` in `region`, as of a month (YYYY-MM); None if it isn't known."""

    usd: float | None
    unit: str
    region: str
    as_of: str | None
    source: str


@dataclass(frozen=True)
class Prices:
    """The prices of one region by name; each has the region that it is from."""

    region: str
    by_name: Mapping[str, Price]

    def __getitem__(self, name: str) -> Price:
        """A price; `<what>:<kind>` has the price of `<what>` if it has no own. Raises KeyError if
        there is none."""
        return self.by_name.get(name) or self.by_name[name.partition(":")[0]]

    @property
    def known_usd(self) -> dict[str, float]:
        """The known US dollars for one unit, by name."""
        return {name: price.usd for name, price in self.by_name.items() if price.usd is not None}

    @property
    def date(self) -> str:
        """The month of the oldest price: every price is at least as recent."""
        return min(price.as_of for price in self.by_name.values() if price.as_of)


def read_prices(region: str = USUAL_REGION, file: Path = FILE) -> Prices:
    """The latest prices of `region`. One that isn't known there is that of us-east-1, without usd
    if that isn't known either."""
    stored = json.loads(file.read_text())["regions"]
    by_name = {}
    for place in (USUAL_REGION, region):
        for name, entry in stored.get(place, {}).items():
            if place == USUAL_REGION or entry["usd"] is not None:
                known = {key: value for key, value in entry.items() if key != "before"}
                by_name[name] = Price(**known, region=place)
    return Prices(region, by_name)
