"""The reader's own numbers: what each choice costs for so many objects, reads and months. Reckoned here for the numbers
that stand there at first, and by the script of the page for any others, with the same formulas."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass

from stampede.experiment.by_size import Tariff
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


def even_reads(one: Tariff, other: Tariff, numbers: Numbers) -> float | None:
    """The reads a month at which both cost the same; None where there is no such number above 0."""
    ours, theirs = (bill(tariff, numbers) for tariff in (one, other))
    apart = (theirs.write_usd + theirs.keep_usd) - (ours.write_usd + ours.keep_usd)
    per_read = (
        prices.moved_usd(one, "read", numbers.size_bytes) - prices.moved_usd(other, "read", numbers.size_bytes)
    ) * numbers.months
    reads = apart / per_read if per_read else 0
    return reads if reads > 0 else None


def answer(tariffs: Mapping[str, Tariff], numbers: Numbers) -> str:
    """Which of two is the cheaper one, and from how many reads on."""
    (one, ours), (other, theirs) = tariffs.items()
    totals = {name: bill(tariff, numbers).total_usd for name, tariff in tariffs.items()}
    least = min(totals, key=lambda name: totals[name])
    says = f"{least} costs less here" if totals[one] != totals[other] else "Both cost the same here"
    reads = even_reads(ours, theirs, numbers)
    if reads is None:
        return f"{says}, and at any number of reads."
    each = {name: prices.moved_usd(tariff, "read", numbers.size_bytes) for name, tariff in tariffs.items()}
    many = min(each, key=lambda name: each[name])
    return f"{says}; from about {_rounded(reads)} reads a month, {many} costs less."


def render(page: Page) -> Block | None:
    """Nothing where the prices of the choices aren't known."""
    tariffs = prices.tariffs(page.run)
    if len(tariffs) != 2:
        return None
    numbers, cost = Numbers(), page.run.manifest["cost"]
    return page.block(
        "calculator",
        "Cost calculator",
        fields=FIELDS,
        units=UNITS,
        unit="KB",
        tariffs=json.dumps({name: astuple(tariff) for name, tariff in tariffs.items()}),
        rows=_rows(tariffs, numbers),
        answer=answer(tariffs, numbers),
        where=f"{cost.get('prices_region') or 'an unknown region'}, {cost.get('prices_date') or 'date unknown'}",
    )


def _rows(tariffs: Mapping[str, Tariff], numbers: Numbers) -> Sequence[tuple[str, Sequence[str]]]:
    bills = {name: bill(tariff, numbers) for name, tariff in tariffs.items()}
    return [(name, [dollars(usd) for usd in (*astuple(one), one.total_usd)]) for name, one in bills.items()]


def _rounded(reads: float) -> str:
    """Three digits, which is more than list prices are worth."""
    return quantity(float(f"{reads:.3g}"))
