"""What a sweep costs on AWS and how long it takes, estimated from its plan and the model before anything is spent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stampede.cell import Cell
from stampede.errors import UsageError
from stampede.phrases import counted, minutes
from stampede.planning.cost import durations
from stampede.planning.cost.bill import Item, bill_items
from stampede.planning.cost.prices import USUAL_REGION, Prices, read_prices
from stampede.planning.demand import Demand
from stampede.planning.plan import Plan
from stampede.planning.predicting import NOTHING, Given, foreseen, on_this_machine


@dataclass(frozen=True)
class Estimate:
    """Cost on AWS and duration of a plan. `target` is "local", "aws" or, in AWS's stead, "endpoint". `cells` are in the
    order in which they run, `cells_s` their seconds by name (`applies_s`: of Terraform alone), on the plan's own
    target; `prices` are those of the region. `unforeseen` are the cells of which nobody knows how
    long their operations take on AWS: the cost has the most for those in Lambda."""

    target: str
    prices: Prices
    items: tuple[Item, ...]
    cells: tuple[Demand, ...]
    unforeseen: tuple[Demand, ...]
    cells_s: Mapping[str, float]
    applies_s: Mapping[str, float]
    around_s: float

    @property
    def total_usd(self) -> float:
        """The sum of all items with a known price."""
        return sum(item.usd or 0.0 for item in self.items)

    @property
    def region(self) -> str:
        """Where it would run."""
        return self.prices.region

    @property
    def prices_region(self) -> str:
        """Whose prices these are: the region's own where any of them is known."""
        return self.region if any(item.region == self.region for item in self.items) else USUAL_REGION

    @property
    def prices_elsewhere(self) -> list[str]:
        """The names of the prices that aren't the region's own, because those aren't known here."""
        return list(dict.fromkeys(item.price for item in self.items if item.region != self.region))

    @property
    def unpriced(self) -> list[Item]:
        """Items that cost something unknown."""
        return [item for item in self.items if item.usd_per_unit is None]

    @property
    def total_s(self) -> float:
        """Seconds of the whole sweep."""
        return sum(self.cells_s.values()) + self.around_s

    def cell_seconds(self, cell: Cell) -> float:
        """Seconds of one cell of the plan."""
        return self.cells_s[cell.name]

    def apply_seconds(self, cell: Cell) -> float:
        """Those of them that Terraform takes."""
        return self.applies_s[cell.name]

    def by_service(self) -> dict[str, float]:
        """US dollars by service, in the order of the items."""
        sums: dict[str, float] = {}
        for item in self.items:
            sums[item.service] = sums.get(item.service, 0.0) + (item.usd or 0.0)
        return sums

    def sentences(self) -> list[str]:
        """Duration and cost in words, a line each, and what the figures rest on."""
        about = minutes(max(60, self.total_s))
        lines = [f"duration: about {about} for {counted(len(self.cells_s), 'cell')}, Terraform included"]
        usd = f"{'at most' if self.unforeseen else 'about'} {self.total_usd:.2f} USD"
        cost = f"{usd} ({self.services_text()}), {self.prices_text()}"
        here = {
            "local": "nothing on this machine; on AWS ",
            "endpoint": "unknown at an endpoint that isn't AWS; on AWS ",
        }
        lines.append(f"cost: {here.get(self.target, '')}{cost}")
        free = [f"{_amount(item.quantity)} {item.unit} of {item.what}" for item in self.items if item.usd_per_unit == 0]
        lines.append("; ".join([*([f"free: {', '.join(free)}"] if free else []), "not counted: retries, free tier"]))
        if self.unforeseen:
            cells = f"{len(self.unforeseen):,} of {counted(len(self.cells), 'cell')}"
            left_out = "" if self.target == "local" else "the duration leaves them out, and "
            lines.append(
                f"not predicted: how long the operations of {cells} take on AWS; {left_out}the cost has timeout_s "
                "for each"
            )
        lines += [
            f"not counted: {item.what}, {item.quantity:.1f} {item.unit}s; their price is unknown"
            for item in self.unpriced
        ]
        return lines

    def services_text(self) -> str:
        """The dollars of each service in one phrase."""
        return ", ".join(f"{service} {usd:.2f}" for service, usd in self.by_service().items())

    def prices_text(self) -> str:
        """Which prices these are."""
        where = f"{self.prices_region} prices of {self.prices.date}"
        if self.region != self.prices_region:
            return f"{where}, because there are none for {self.region}"
        elsewhere = self.prices_elsewhere
        return f"{where}, except {', '.join(elsewhere)} ({USUAL_REGION})" if elsewhere else where

    def as_dict(self) -> dict[str, Any]:
        """The estimate as it stands in run.json."""
        return {
            "prices_date": self.prices.date,
            "prices_region": self.prices_region,
            "prices_elsewhere": self.prices_elsewhere,
            "prices": self.prices.known_usd,
            "region": self.region,
            "items": [item.as_dict() for item in self.items],
            "total_usd": round(self.total_usd, 6),
            **({"is_at_most": True} if self.unforeseen else {}),
            "expected_s": round(self.total_s),
        }


def _amount(quantity: float) -> str:
    """Whole units, and parts of one where there are fewer than 10: `0.08`, `13,320`."""
    return f"{quantity:,.0f}" if quantity >= 10 else f"{quantity:.2g}"


def estimate(
    plan: Plan,
    kind: str | None = None,
    given: Given = NOTHING,
) -> Estimate:
    """Estimate a plan; `kind` is the plan's target. `given` is what is
    known beside the plan.

    A plan of target "local" gets the cost that it would have on AWS, and the duration here; an "endpoint" cost and
    duration of AWS. Raises UsageError for values that aren't numbers.
    """
    prices = read_prices(str(plan.cells[0].values["region"]))
    cells = foreseen(plan, given)
    here = cells if plan.target == "aws" else on_this_machine(plan)
    return Estimate(
        target=kind or plan.target,
        prices=prices,
        items=tuple(bill_items(cells, durations.around_s(cells, "aws"), prices, given.message_bytes)),
        cells=tuple(here),
        unforeseen=tuple(cell for cell in cells if not cell.is_foreseen),
        cells_s={cell.name: durations.cell_s(cell, plan.target) for cell in here},
        applies_s={cell.name: durations.apply_s(cell, plan.target) for cell in here},
        around_s=durations.around_s(cells, plan.target),
    )


def check_budget(estimate: Estimate, budget_usd: float | None) -> None:
    """Refuse what may cost more than `budget_usd` (None: no limit). A local sweep costs nothing and always passes; what
    an endpoint bills nobody knows, so there AWS's prices count.

    Raises UsageError, also where a part of the cost has no known price: then nobody can keep a budget.
    """
    if budget_usd is None or estimate.target == "local":
        return
    if estimate.unpriced:
        what = ", ".join(item.what for item in estimate.unpriced)
        raise UsageError(
            f"--budget-usd {budget_usd:g}: can't be guaranteed, because the price of {what} is unknown",
            "use settings whose price is known, or leave --budget-usd out",
        )
    if not all(cell.usage.in_lambda for cell in estimate.unforeseen):
        raise UsageError(
            f"--budget-usd {budget_usd:g}: can't be guaranteed, because the model can't predict how long "
            "the operations take",
            "`stampede doctor` checks the settings, or leave --budget-usd out",
        )
    if estimate.total_usd > budget_usd:
        unlike = " on AWS" if estimate.target == "endpoint" else ""
        raise UsageError(
            f"--budget-usd {budget_usd:g}: the sweep's estimated cost is {estimate.total_usd:.2f} USD{unlike} "
            f"({estimate.services_text()}; {estimate.prices_text()})",
            "raise --budget-usd, or sweep fewer or smaller cells with --set",
        )
