"""What the run cost, from the estimate that the sweep left in run.json, and what a month of the same would cost."""

import math
from collections.abc import Mapping
from typing import Any

from stampede.phrases import dollars, quantity
from stampede.report import prices
from stampede.report.grid import BLANK, Column, Entry, Grid, Row, number, single_lines, words
from stampede.report.run import Run
from stampede.report.sections.page import Block, Figures, Page

READS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
MEGABIT_BYTES = 125_000


def cost(page: Page) -> Block:
    """What the sweep estimated, from run.json."""
    run, stored = page.run, estimate(page.run)
    if stored is None:
        return page.block("cost", "Cost", grid=None)
    return page.block("cost", "Cost", headline=headline(run, stored), basis=basis(stored), grid=_bill(stored))


def estimate(run: Run) -> Mapping[str, Any] | None:
    """The `cost` of run.json when it can be shown, else None (a run of before there was one, one by hand, or of a
    function whose time nobody knew)."""
    cost = run.manifest.get("cost")
    if not isinstance(cost, dict) or cost.get("is_at_most") or not _is_number(cost.get("total_usd")):
        return None
    return cost if isinstance(cost.get("items"), list) else None


def headline(run: Run, cost: Mapping[str, Any]) -> str:
    """What the run cost, or would have."""
    total = f"about ${dollars(cost['total_usd'])}"
    if run.target == "local":
        return f"Nothing on this machine. On AWS this would have cost {total}, estimated from the plan."
    if run.target == "endpoint":
        return f"What {run.source} charges isn’t known. On AWS this would have cost {total}, estimated from the plan."
    return f"Estimated from the plan: {total}."


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


def monthly(page: Page) -> Block | None:
    """What it would cost a month to read and keep the same data, for several numbers of reads. None without prices
    stored with the run, or where nothing was measured."""
    known, operations = prices.known(page.run), page.experiment.operation[1]
    lines = []
    for cell in page.numbers["cells"]:
        if entries := _month(page, cell, known):
            lines.append((cell, entries))
    if not lines:
        return None
    labels = ["per million", *(f"{reads:,}" for reads in READS)]
    columns = [Column("stored data", "USD a month"), *(Column(label, f"{operations}, USD") for label in labels)]
    measured = f", with Lambda’s time as measured on {page.run.not_aws}" if page.run.not_aws else ""
    caption = f"Monthly cost at AWS’s list prices by number of {operations}, storage included{measured}"
    grid = page.grid("monthly", caption, columns, lines)
    return page.block("monthly", "Monthly cost", template="cost", grid=grid)


def _month(page: Page, cell: Figures, known: Mapping[str, float]) -> list[Entry]:
    """Storage, a million operations, and a month of each of READS; [] where one of them isn't known."""
    client, mean_s = cell["client"], cell["seconds"]["mean_s"]
    if not cell["count"] or not client["mbit_per_s"]:
        return []
    key = page.key(cell)
    requests = None if client["requests"] is None else client["requests"] / cell["count"]
    moved_bytes = client["mbit_per_s"] * MEGABIT_BYTES * mean_s
    settings = key.figures() | {"architecture": prices.architecture(page.run, key)}
    bill = page.experiment.a_month(settings, moved_bytes, mean_s, requests, known)
    if bill is None:
        return []
    kept_usd, each_usd = bill
    amounts = [kept_usd, each_usd * 1_000_000, *(kept_usd + reads * each_usd for reads in READS)]
    return [number(usd, dollars(usd)) for usd in amounts]
