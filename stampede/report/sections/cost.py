"""The cost panel, from the estimate that the sweep left in run.json."""

import math
from collections.abc import Mapping
from typing import Any

from stampede.phrases import dollars, quantity
from stampede.report.grid import BLANK, Column, Grid, Row, number, single_lines, words
from stampede.report.sections.page import Block, Page
from stampede.runs.run import Run

COLUMNS = [Column("service", words=True), Column("item", words=True), Column("quantity"), Column("unit", words=True),
           Column("per unit", "USD"), Column("cost", "USD")]  # fmt: skip


def render(page: Page) -> Block:
    """The section."""
    found = estimate(page.run)
    cost = found and {"headline": headline(page.run, found), "basis": basis(found), "grid": grid(found)}
    return page.block("cost", "Cost", cost=cost)


def estimate(run: Run) -> Mapping[str, Any] | None:
    """The `cost` of run.json when it can be shown, else None (a run of before there was one, or one by hand)."""
    cost = run.manifest.get("cost")
    if not isinstance(cost, dict) or not _is_number(cost.get("total_usd")):
        return None
    return cost if isinstance(cost.get("items"), list) else None


def headline(run: Run, cost: Mapping[str, Any]) -> str:
    """What the run cost, or would have."""
    total = f"about ${dollars(cost['total_usd'])}"
    if run.target == "local":
        return f"Nothing on this machine. On AWS this would have cost {total}."
    if run.target == "endpoint":
        return f"What {run.source} charges isn’t known. On AWS this would have cost {total}."
    return f"Estimated from the plan: {total}."


def basis(cost: Mapping[str, Any]) -> str:
    """Which prices the estimate rests on, and what isn't in it."""
    priced_in, region = cost.get("prices_region") or cost.get("region"), cost.get("region")
    prices = f"{priced_in or 'unknown region'}, {cost.get('prices_date') or 'date unknown'}"
    elsewhere = f" The run was in {region}, whose prices aren’t known." if region and region != priced_in else ""
    if not elsewhere and isinstance(others := cost.get("prices_elsewhere"), list) and others:
        elsewhere = f" Unknown there, so priced as in us-east-1: {', '.join(map(str, others))}."
    unpriced = [item for item in _items(cost) if item.get("usd") is None]
    lack = (
        f" Not included because the price is unknown: {', '.join(str(item.get('what')) for item in unpriced)}."
        if unpriced
        else ""
    )
    return f"List prices of {prices}.{elsewhere} Not included: the free tier, retries, taxes.{lack}"


def grid(cost: Mapping[str, Any]) -> Grid:
    """The items, one a line, and their sum."""
    rows = [
        [
            words(str(item.get("service") or "")),
            words(str(item.get("what") or "")),
            number(_value(item, "quantity"), quantity(item["quantity"]) if _is_number(item.get("quantity")) else None),
            words(str(item.get("unit") or "")),
            number(_value(item, "usd_per_unit"), _unit_price(_value(item, "usd_per_unit"))),
            number(_value(item, "usd"), dollars(_value(item, "usd"))),
        ]
        for item in _items(cost)
    ]
    total = cost["total_usd"]
    foot = Row([words("total"), *[BLANK] * 4, number(total, dollars(total))])
    return Grid("bill", "Estimated cost by service, in US dollars", COLUMNS, single_lines(rows), foot)


def _items(cost: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [item for item in cost["items"] if isinstance(item, dict)]


def _value(item: Mapping[str, Any], name: str) -> float | None:
    return item[name] if _is_number(item.get(name)) else None


def _unit_price(usd: float | None) -> str:
    return "" if usd is None else f"{usd:.10f}".rstrip("0").rstrip(".")


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and math.isfinite(value)
