"""What the run cost, from the estimate that the sweep left in run.json."""

import math
from collections.abc import Mapping
from typing import Any

from stampede.phrases import dollars, quantity
from stampede.report.grid import BLANK, Column, Grid, Row, number, single_lines, words
from stampede.report.run import Run
from stampede.report.sections.page import Block, Page


def cost(page: Page) -> Block | None:
    """What the sweep estimated, from run.json; None where no AWS was paid."""
    if page.run.target != "aws":
        return None
    stored = estimate(page.run)
    if stored is None:
        return page.block("cost", "Cost", grid=None)
    headline = f"Estimated from the plan: about ${dollars(stored['total_usd'])}."
    return page.block("cost", "Cost", headline=headline, basis=basis(stored), grid=_bill(stored))


def estimate(run: Run) -> Mapping[str, Any] | None:
    """The `cost` of run.json when it can be shown, else None (a run of before there was one, one by hand, or of a
    function whose time nobody knew)."""
    cost = run.manifest.get("cost")
    if not isinstance(cost, dict) or cost.get("is_at_most") or not _is_number(cost.get("total_usd")):
        return None
    return cost if isinstance(cost.get("items"), list) else None


def basis(cost: Mapping[str, Any]) -> str:
    """Which prices the estimate rests on, and what isn't in it."""
    priced_in, region = cost.get("prices_region") or cost.get("region"), cost.get("region")
    place = f"{priced_in or 'unknown region'}, {cost.get('prices_date') or 'date unknown'}"
    others, elsewhere = cost.get("prices_elsewhere"), ""
    if region and region != priced_in:
        elsewhere = f" The run was in {region}, whose prices aren’t known."
    elif isinstance(others, list) and others:
        elsewhere = f" Unknown there, so priced as in us-east-1: {', '.join(map(str, others))}."
    unpriced = [str(item.get("what")) for item in _items(cost) if item.get("usd") is None]
    lack = f" Not included because the price is unknown: {', '.join(unpriced)}." if unpriced else ""
    return f"List prices of {place}.{elsewhere} Not included: the free tier, retries, taxes.{lack}"


def _bill(cost: Mapping[str, Any]) -> Grid:
    """The items, one a line, and their sum."""
    rows = []
    for item in _items(cost):
        names = ("quantity", "usd_per_unit", "usd")
        amount, usd_per_unit, usd = (item[name] if _is_number(item.get(name)) else None for name in names)
        if not usd and amount and usd_per_unit:
            usd = amount * usd_per_unit  # run.json has no millionths of a dollar
        price = None if usd_per_unit is None else f"{usd_per_unit:.10f}".rstrip("0").rstrip(".")
        rows.append(
            [
                words(str(item.get("service") or "")),
                words(str(item.get("what") or "")),
                number(amount, None if amount is None else quantity(amount)),
                words(str(item.get("unit") or "")),
                number(usd_per_unit, price),
                number(usd, dollars(usd)),
            ]
        )
    columns = [
        Column("service", words=True),
        Column("item", words=True),
        Column("quantity"),
        Column("unit", words=True),
        Column("per unit", "USD"),
        Column("cost", "USD"),
    ]
    total = cost["total_usd"]
    foot = Row([words("total"), *[BLANK] * 4, number(total, dollars(total))])
    return Grid("bill", "Estimated cost by service, in US dollars", columns, single_lines(rows), foot)


def _items(cost: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [item for item in cost["items"] if isinstance(item, dict)]


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and math.isfinite(value)
