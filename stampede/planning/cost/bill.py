"""The lines of the bill of a sweep's cells, as numbers: pure arithmetic over prices.json.

Left out: the free tier, retries, taxes, and what stays after `destroy` (nothing).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from stampede.planning import access_log
from stampede.planning.cost import durations
from stampede.planning.cost.prices import USUAL_REGION, Prices
from stampede.planning.demand import Demand
from stampede.stacks.sqs_limits import MAX_BATCH_BYTES, MAX_ENTRIES

# SQS bills a request for each 64 KB that is sent or received (SQS pricing, "Size of Payloads").
CHUNK_BYTES = 64 * 2**10
FREE_TMP_MB = 512
# START, the record, END and REPORT are 800 bytes together [tried], and CloudWatch adds 26 for each
# event.
LOG_BYTES_PER_MESSAGE = 1024
# Every saved query once over all lines of the run.
INSIGHTS_SCANS = 7
# An empty queue is polled every 20 s, by five connections of Lambda's trigger or by each host.
# Counted for the whole run.
EMPTY_RECEIVES_PER_HOUR = 3600 / 20
TRIGGER_CONNECTIONS = 5
# A poller makes up to 10 polls a second (Lambda guide, SQS event source mappings, provisioned
# mode). The polls of an empty queue aren't documented, so this is an upper bound.
POLLS_PER_POLLER_S = 10
# `drain` makes two GetQueueAttributes every 5 s.
DRAIN_REQUESTS_PER_HOUR = 2 * 3600 / 5
BYTES_IN_A_GB = 2**30  # AWS's GB for storage, logs and memory


@dataclass(frozen=True)
class Item:
    """One line of the bill. `usd_per_unit` is None if it isn't known; `price` is its name in
    prices.json, `region` the price's."""

    service: str
    what: str
    quantity: float
    unit: str
    usd_per_unit: float | None
    price: str = ""
    region: str = USUAL_REGION

    @property
    def usd(self) -> float | None:
        """Quantity times price; None if the price isn't known."""
        return None if self.usd_per_unit is None else self.quantity * self.usd_per_unit

    def as_dict(self) -> dict[str, Any]:
        """The item for run.json."""
        return {
            "service": self.service,
            "what": self.what,
            "quantity": round(self.quantity, 6),
            "unit": self.unit,
            "usd_per_unit": self.usd_per_unit,
            "usd": None if self.usd is None else round(self.usd, 6),
            "price": self.price,
        }


# The lines of the bill: the quantity, in the price's unit, by service, words and name of the price.
Lines = dict[tuple[str, str, str], float]


def bill_items(
    cells: Sequence[Demand],
    around_s: float,
    prices: Prices,
    message_bytes: Sequence[tuple[int, float]] = (),
) -> list[Item]:
    """The lines of the bill of `cells`, as foreseen on AWS, and of `around_s` seconds around them;
    `message_bytes` as in `estimate`."""
    hours = (sum(durations.cell_s(demand, "aws") for demand in cells) + around_s) / 3600
    pollers_s = _pollers_s(cells, around_s)
    lines = _lambda_lines(
        [demand for demand in cells if demand.usage.in_lambda], pollers_s
    ) | _used(cells, around_s)
    lines |= _queue_lines(cells, hours, pollers_s, message_bytes) | _log_lines(cells, hours)
    items = []
    for (service, what, name), quantity in lines.items():
        price = prices[name]
        items.append(Item(service, what, quantity, price.unit, price.usd, name, price.region))
    return items


def _lambda_lines(cells: Sequence[Demand], pollers_s: float) -> Lines:
    """The lines of what runs in functions."""
    if not cells:
        return {}
    gb_s: Lines = {}
    for demand in sorted(cells, key=lambda demand: demand.cell.values["architecture"]):
        name = demand.cell.values["architecture"]
        line = ("Lambda", f"compute, {name}", f"lambda_gb_s_{name}")
        gb_s[line] = gb_s.get(line, 0) + demand.memory_mb / 1024 * _billed_s(demand)
    tmp_gb_s = sum(
        max(0, demand.usage.tmp_mb - FREE_TMP_MB) / 1024 * _billed_s(demand) for demand in cells
    )
    return gb_s | {
        ("Lambda", "requests", "lambda_request"): sum(
            demand.operations + demand.preparing for demand in cells
        ),
        ("Lambda", "/tmp above 512 MB", "lambda_tmp_gb_s"): tmp_gb_s,
        **(
            {("Lambda", "provisioned pollers", "lambda_poller_hour"): pollers_s / 3600}
            if pollers_s
            else {}
        ),
    }


def _queue_lines(
    cells: Sequence[Demand],
    hours: float,
    pollers_s: float,
    message_bytes: Sequence[tuple[int, float]],
) -> Lines:
    receivers = max(
        demand.concurrency if demand.usage.on_hosts else TRIGGER_CONNECTIONS for demand in cells
    )
    quantities = {
        "send, receive, delete": sum(
            _queue_requests(demand, message_bytes) for demand in cells if not demand.usage.in_athena
        ),
        "receives from an empty queue": hours
        * (EMPTY_RECEIVES_PER_HOUR * receivers + DRAIN_REQUESTS_PER_HOUR),
        **({"provisioned pollers, at most": pollers_s * POLLS_PER_POLLER_S} if pollers_s else {}),
    }
    return {("SQS", what, "sqs_request"): quantity for what, quantity in quantities.items()}


def _log_lines(cells: Sequence[Demand], hours: float) -> Lines:
    """The lines of CloudWatch, with S3's access logs if they are on."""
    gb = sum(demand.all_messages for demand in cells) * LOG_BYTES_PER_MESSAGE / BYTES_IN_A_GB
    logged = [demand for demand in cells if access_log.is_on(demand.cell.values)]
    uses = [
        use
        for demand in logged
        for use in demand.usage.uses
        if use.price in access_log.REQUEST_PRICES
    ]
    requests = _used(logged, 0.0) if logged else {}
    log_lines = sum(
        requests[line] * each for line, each in {use.line: use.log_lines for use in uses}.items()
    )
    return {
        ("CloudWatch", "log lines", "logs_ingested_gb"): gb,
        ("CloudWatch", "Logs Insights scans", "logs_scanned_gb"): INSIGHTS_SCANS * gb,
        **(access_log.lines(log_lines, hours) if logged else {}),
    }


def _queue_requests(demand: Demand, message_bytes: Sequence[tuple[int, float]]) -> float:
    """SQS requests of a cell: batches that are sent, one that prepares the cell, and the receives
    and deletes of each invocation, ten messages at a time."""
    mean_bytes = sum(size * share for size, share in message_bytes)
    batch = max(1, min(MAX_ENTRIES, int(MAX_BATCH_BYTES / max(1, mean_bytes))))

    def sent(messages: float) -> int:
        return ceil(messages / batch) * max(
            1, ceil(min(messages, batch) * mean_bytes / CHUNK_BYTES)
        )

    at_once = min(MAX_ENTRIES, demand.cell.batch_size)
    received = sum(ceil(at_once * size / CHUNK_BYTES) * share for size, share in message_bytes) or 1
    batches = demand.cell.rounds * sent(demand.cell.messages / demand.cell.rounds) + sent(
        demand.cell.warm_up_messages
    )
    return batches + demand.preparing + (received + 1) * ceil(demand.all_messages / at_once)


def _pollers_s(cells: Sequence[Demand], around_s: float) -> float:
    """Seconds of all provisioned pollers, at their maximum from their cell's apply to the next
    apply or the end."""
    most = [
        (demand.pollers[1], durations.cell_s(demand, "aws")) for demand in cells if demand.pollers
    ]
    return (
        sum(pollers * seconds for pollers, seconds in most)
        + max(most, default=(0, 0))[0] * around_s
    )


def _billed_s(demand: Demand) -> float:
    """Billed Lambda seconds of a cell: the operations, a cold start of each function (billed since
    August 2025), and the wait at the start barrier."""
    preparing_s = min(demand.preparation_s("aws"), demand.timeout_s)
    environments = min(demand.concurrency, demand.operations)
    return (
        demand.working_s
        + preparing_s
        + environments * (demand.start_s + demand.cell.rounds * demand.barrier_s)
    )


def _used(cells: Sequence[Demand], around_s: float) -> Lines:
    """The experiment's own lines, those of a service together.

    What is up with its cell only counts for the cell's time, with the first cell also for the time
    around all cells. What is used once for all cells, or while a stack is up, counts as the largest
    of each `Use.of`.
    """
    hours = [durations.cell_s(demand, "aws") / 3600 for demand in cells]
    hours[0] += around_s / 3600
    lines: Lines = {}
    most: dict[tuple[tuple[str, str, str], str], float] = {}
    for demand, up_hours in zip(cells, hours, strict=True):
        for use in demand.usage.uses:
            own = demand.operations * use.each + use.per_cell + use.per_cell_hour * up_hours
            lines[use.line] = lines.get(use.line, 0.0) + own
            once = use.once + (use.per_hour and use.per_hour * sum(hours))
            most[use.line, use.of] = max(most.get((use.line, use.of), 0.0), once)
    for (line, _), once in most.items():
        lines[line] += once
    services = list(dict.fromkeys(service for service, _, _ in lines))
    return {line: lines[line] for line in sorted(lines, key=lambda line: services.index(line[0]))}
