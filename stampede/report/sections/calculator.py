"""The reader's own numbers: what each variant costs for so many objects, reads and months. Calculated here for the
numbers that stand there at first, and by the script of the page for any others, with the same formulas."""

import json
from collections.abc import Mapping
from dataclasses import astuple, dataclass

from stampede.experiment import Tariff
from stampede.phrases import dollars, quantity
from stampede.report import prices
from stampede.report.sections.page import Block, Page

UNITS = {"bytes": 1, "KB": 1000, "MB": 1000**2, "GB": 1000**3}


@dataclass(frozen=True)
class Numbers:
    """What the reader puts in: objects, each written once, their size, reads of one object a month, months kept."""

    objects: float = 1_000_000
    size_bytes: float = 10_000
    reads: float = 10_000_000
    months: float = 1


@dataclass(frozen=True)
class Field:
    """One input: its name in the page, its label, what it holds at first, and the hint for what it must be."""

    name: str
    label: str
    text: str
    hint: str


FIELDS = (
    Field("objects", "Objects, each written once", "1,000,000", "a whole number of 1 or more, such as 1,000,000"),
    Field("size", "Size of one object", "10", "a number above 0, such as 10 or 0.5"),
    Field("reads", "Objects read a month", "10,000,000", "a whole number of 0 or more, such as 10,000,000"),
    Field("months", "Months stored", "1", "a number above 0, such as 12 or 0.5"),
)


@dataclass(frozen=True)
class Bill:
    """US dollars over all months: writing once, reading, keeping."""

    write_usd: float
    read_usd: float
    keep_usd: float

    @property
    def total_usd(self) -> float:
        return self.write_usd + self.read_usd + self.keep_usd


def bill(tariff: Tariff, numbers: Numbers) -> Bill:
    """What `numbers` cost by `tariff`: requests and bytes, and the storage of all objects from the first day on."""
    size_gb = numbers.size_bytes / prices.BYTES_IN_A_GB
    return Bill(
        numbers.objects * prices.moved_usd(tariff, "write", numbers.size_bytes),
        numbers.reads * numbers.months * prices.moved_usd(tariff, "read", numbers.size_bytes),
        numbers.objects * size_gb * tariff.gb_month_usd * numbers.months,
    )


def even_reads(first: Tariff, second: Tariff, numbers: Numbers) -> float | None:
    """The reads a month at which both cost the same; None where there is no such number above 0."""
    ours, theirs = (bill(tariff, numbers) for tariff in (first, second))
    apart = (theirs.write_usd + theirs.keep_usd) - (ours.write_usd + ours.keep_usd)
    read_usd, their_read_usd = (prices.moved_usd(tariff, "read", numbers.size_bytes) for tariff in (first, second))
    per_read = (read_usd - their_read_usd) * numbers.months
    reads = apart / per_read if per_read else 0
    return reads if reads > 0 else None


def answer(tariffs: Mapping[str, Tariff], numbers: Numbers) -> str:
    """Which of two is the cheaper one, and from how many reads on."""
    totals = {name: bill(tariff, numbers).total_usd for name, tariff in tariffs.items()}
    cheaper = min(totals, key=lambda name: totals[name])
    is_even = len(set(totals.values())) == 1
    start = "Both cost the same here" if is_even else f"{cheaper} costs less here"
    reads = even_reads(*tariffs.values(), numbers)
    if reads is None:
        return f"{start}, and at any number of reads."
    each = {name: prices.moved_usd(tariff, "read", numbers.size_bytes) for name, tariff in tariffs.items()}
    beyond = min(each, key=lambda name: each[name])
    rounded = quantity(float(f"{reads:.3g}"))  # three digits, which is more than list prices are worth
    return f"{start}; from about {rounded} reads a month, {beyond} costs less."


def calculator(page: Page) -> Block | None:
    """None where the prices of the variants aren't known."""
    tariffs = prices.tariffs(page.run)
    if len(tariffs) != 2:
        return None
    numbers, cost = Numbers(), page.run.manifest["cost"]
    rows = []
    for name, tariff in tariffs.items():
        amounts = bill(tariff, numbers)
        rows.append((name, [dollars(usd) for usd in (*astuple(amounts), amounts.total_usd)]))
    return page.block(
        "calculator",
        "Cost calculator",
        fields=FIELDS,
        units=UNITS,
        unit="KB",
        tariffs=json.dumps({name: astuple(tariff) for name, tariff in tariffs.items()}),
        rows=rows,
        answer=answer(tariffs, numbers),
        where=f"{cost.get('prices_region') or 'an unknown region'}, {cost.get('prices_date') or 'date unknown'}",
    )
