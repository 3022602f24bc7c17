"""The cost on AWS and the duration of a sweep, estimated from its plan and the model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stampede.errors import UsageError
from stampede.model.prediction import Prediction
from stampede.phrases import counted, minutes
from stampede.planning.cost import durations
from stampede.planning.cost.bill import Item, bill_items
from stampede.planning.cost.prices import USUAL_REGION, Prices, read_prices
from stampede.planning.demand import Demand
from stampede.planning.plan import Plan
from stampede.planning.predicting import foresee


@dataclass(frozen=True)
class Estimate:
    """Cost on AWS and duration of a plan. `target` is "local", "aws" or "endpoint", which isn't
    AWS. `cells` are in the order in which they run, as foreseen on AWS, `cells_s` their seconds by
    name, on the plan's own target; `prices` are those of the region."""

    target: str
    prices: Prices
    items: tuple[Item, ...]
    cells: tuple[Demand, ...]
    cells_s: Mapping[str, float]
    around_s: float

    @property
    def unforeseen(self) -> list[Demand]:
        """The cells whose operations aren't predicted on AWS: those in Lambda cost an upper
        bound."""
        return [cell for cell in self.cells if cell.question is None]

    @property
    def total_usd(self) -> float:
        """The sum of all items with a known price."""
        return sum(item.usd or 0.0 for item in self.items)

    @property
    def unpriced(self) -> list[Item]:
        """Items without a known price."""
        return [item for item in self.items if item.usd_per_unit is None]

    @property
    def total_s(self) -> float:
        """Seconds of the whole sweep."""
        return sum(self.cells_s.values()) + self.around_s

    def predictions(self, ranged: bool = False) -> dict[str, Prediction]:
        """The model's predictions by the name of the cell, with ranges if `ranged`; none for this
        machine, or if a cell is unforeseen."""
        if self.target == "local" or self.unforeseen:
            return {}
        asked = {demand.cell.alike: demand.question for demand in self.cells}
        answers = {alike: question.predict(ranged) for alike, question in asked.items()}
        return {demand.name: answers[demand.cell.alike] for demand in self.cells}

    def sentences(self) -> list[str]:
        """Duration and cost in words, a line each, and the limits of the estimate."""
        here = {
            "local": "nothing on this machine; on AWS ",
            "endpoint": "unknown at an endpoint that isn't AWS; on AWS ",
        }
        most = "at most" if self.unforeseen else "about"
        about, cells = minutes(max(60, self.total_s)), counted(len(self.cells), "cell")
        lines = [
            f"duration: about {about} for {cells}, Terraform included",
            f"cost: {here.get(self.target, '')}{most} {self.total_usd:.2f} USD ({self.parts()})",
            "not counted: retries, free tier",
        ]
        if self.unforeseen:
            lines.append(
                f"not predicted: how long the operations of {len(self.unforeseen):,} of {cells} "
                "take on AWS; the cost has timeout_s for each"
            )
        for item in self.unpriced:
            lines.append(
                f"not counted: {item.what}, {item.quantity:.1f} {item.unit}s; their price is "
                "unknown"
            )
        return lines

    def parts(self) -> str:
        """The dollars of each service, with the region and month of the prices."""
        by_service: dict[str, float] = defaultdict(float)
        for item in self.items:
            by_service[item.service] += item.usd or 0.0
        services = ", ".join(f"{service} {usd:.2f}" for service, usd in by_service.items())
        or_else = (
            f" or else {USUAL_REGION}"
            if any(item.region != self.prices.region for item in self.items)
            else ""
        )
        return f"{services}; prices of {self.prices.region}{or_else}, {self.prices.date}"

    def as_dict(self) -> dict[str, Any]:
        """The estimate for run.json."""
        elsewhere = dict.fromkeys(
            item.price for item in self.items if item.region != self.prices.region
        )
        is_own = any(item.region == self.prices.region for item in self.items)
        return {
            "prices_date": self.prices.date,
            "prices_region": self.prices.region if is_own else USUAL_REGION,
            "prices_elsewhere": list(elsewhere),
            "prices": self.prices.known_usd,
            "region": self.prices.region,
            "items": [item.as_dict() for item in self.items],
            "total_usd": round(self.total_usd, 6),
            **({"is_at_most": True} if self.unforeseen else {}),
            "expected_s": round(self.total_s),
        }


def estimate(
    plan: Plan,
    cells: Sequence[Demand] | None = None,
    kind: str = "",
    message_bytes: Sequence[tuple[int, float]] = (),
) -> Estimate:
    """Estimate a plan, whose `cells` may be foreseen already; `kind` is its target, by default the
    plan's own. `message_bytes` are the sizes in bytes of messages with their attributes, each with
    its share of the messages (none: small).

    A "local" plan gets its cost on AWS and its duration here; an "endpoint" gets cost and duration
    of AWS.
    """
    prices = read_prices(str(plan.cells[0].values["region"]))
    cells = foresee(plan) if cells is None else cells
    return Estimate(
        target=kind or plan.target,
        prices=prices,
        items=tuple(bill_items(cells, durations.around_s(cells, "aws"), prices, message_bytes)),
        cells=tuple(cells),
        cells_s={cell.name: durations.cell_s(cell, plan.target) for cell in cells},
        around_s=durations.around_s(cells, plan.target),
    )


def check_budget(estimate: Estimate, budget_usd: float | None) -> None:
    """Raise UsageError if the cost may exceed `budget_usd` (None: no limit) or has a part without a
    known price. A local sweep costs nothing and always passes; an endpoint counts as AWS.
    """
    if budget_usd is None or estimate.target == "local":
        return
    option = f"--budget-usd {budget_usd:g}"
    unknown = [f"the price of {item.what} is unknown" for item in estimate.unpriced]
    if not all(cell.usage.in_lambda for cell in estimate.unforeseen):
        unknown.append("the model can't predict how long the operations take")
    if unknown:
        way_out = "`stampede doctor` checks the settings, or leave --budget-usd out"
        raise UsageError(f"{option}: can't be guaranteed, because {unknown[0]}", way_out)
    if estimate.total_usd > budget_usd:
        way_out = "raise --budget-usd, or sweep fewer or smaller cells with --set"
        raise UsageError(
            f"{option}: the sweep's estimated cost is "
            f"{estimate.total_usd:.2f} USD on AWS ({estimate.parts()})",
            way_out,
        )
