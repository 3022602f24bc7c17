"""The lines of the bill of a sweep's cells, as numbers: pure arithmetic over prices.json.

Left out: the free tier, retries, taxes, and what stays after `destroy` (nothing).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from stampede.experiment import Use
from stampede.planning import access_log
from stampede.planning.cost import durations
from stampede.planning.cost.prices import USUAL_REGION, Prices
from stampede.planning.demand import Demand
from stampede.stacks.sqs_limits import MAX_BATCH_BYTES, MAX_ENTRIES

# SQS bills a request for each 64 KB that is sent or received (SQS pricing, "Size of Payloads").
CHUNK_BYTES = 64 * 2**10
FREE_TMP_MB = 512
# The services that every cell uses, after those of the experiment.
LAST = ("SQS", "CloudWatch")
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


def bill_items(
    cells: Sequence[Demand],
    around_s: float,
    prices: Prices,
    message_bytes: Sequence[tuple[int, float]] = (),
) -> list[Item]:
    """The lines of the bill of `cells`, as foreseen on AWS, and of `around_s` seconds around them,
    those of a service together; `message_bytes` as in `estimate`."""
    cells_s = [durations.cell_s(demand, "aws") for demand in cells]
    hours = (sum(cells_s) + around_s) / 3600
    uses = [
        [
            *(_of_lambda(demand) if demand.usage.in_lambda else ()),
            *demand.usage.uses,
            *_of_queue(demand, message_bytes),
            *(_of_pollers(demand.pollers[1], cell_s, around_s) if demand.pollers else ()),
            *_of_logs(demand, hours),
        ]
        for demand, cell_s in zip(cells, cells_s, strict=True)
    ]
    items = []
    for (service, what, name), quantity in _quantities(cells, uses, cells_s, around_s).items():
        price = prices[name]
        items.append(Item(service, what, quantity, price.unit, price.usd, name, price.region))
    return items


def _of_lambda(demand: Demand) -> list[Use]:
    """What runs in functions."""
    architecture, billed_s = demand.cell.values["architecture"], _billed_s(demand)
    tmp_gb = max(0, demand.usage.tmp_mb - FREE_TMP_MB) / 1024
    gb_s = f"lambda_gb_s_{architecture}"
    compute_gb_s = demand.memory_mb / 1024 * billed_s
    return [
        Use("Lambda", f"compute, {architecture}", gb_s, per_cell=compute_gb_s),
        Use("Lambda", "requests", "lambda_request", each=1, per_cell=demand.preparing),
        Use("Lambda", "/tmp above 512 MB", "lambda_tmp_gb_s", per_cell=tmp_gb * billed_s),
    ]


def _of_pollers(most: int, cell_s: float, around_s: float) -> list[Use]:
    """Provisioned pollers, at their maximum from their cell's apply to the next one or the end."""
    hours = {"per_cell": most * cell_s / 3600, "once": most * around_s / 3600}
    polls = {name: 3600 * POLLS_PER_POLLER_S * count for name, count in hours.items()}
    return [
        Use("Lambda", "provisioned pollers", "lambda_poller_hour", **hours),
        Use("SQS", "provisioned pollers, at most", "sqs_request", **polls),
    ]


def _of_queue(demand: Demand, message_bytes: Sequence[tuple[int, float]]) -> list[Use]:
    in_athena = demand.usage.in_athena
    requests = 0 if in_athena else _queue_requests(demand, message_bytes)
    receivers = demand.concurrency if demand.usage.on_hosts else TRIGGER_CONNECTIONS
    empty = EMPTY_RECEIVES_PER_HOUR * receivers + DRAIN_REQUESTS_PER_HOUR
    return [
        Use("SQS", "send, receive, delete", "sqs_request", per_cell=requests),
        Use("SQS", "receives from an empty queue", "sqs_request", per_hour=empty),
    ]


def _of_logs(demand: Demand, hours: float) -> list[Use]:
    """The lines in CloudWatch, with S3's access logs if they are on."""
    gb = demand.all_messages * LOG_BYTES_PER_MESSAGE / BYTES_IN_A_GB
    is_logged = access_log.is_on(demand.cell.values)
    return [
        Use("CloudWatch", "log lines", "logs_ingested_gb", per_cell=gb),
        Use("CloudWatch", "Logs Insights scans", "logs_scanned_gb", per_cell=INSIGHTS_SCANS * gb),
        *(access_log.uses(demand.usage.uses, hours) if is_logged else ()),
    ]


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


def _quantities(
    cells: Sequence[Demand],
    uses: Sequence[Sequence[Use]],
    cells_s: Sequence[float],
    around_s: float,
) -> dict[tuple[str, str, str], float]:
    """The quantity of each line, in its price's unit, those of a service together.

    What is up with its cell only counts for the cell's time, with the first cell also for the time
    around all cells. What is used once for all cells, or while a stack is up, counts as the largest
    of each `Use.of`.
    """
    lines: dict[tuple[str, str, str], float] = {}
    most: dict[tuple[tuple[str, str, str], str], float] = {}
    up_s = [around_s + cells_s[0], *cells_s[1:]]
    for demand, of_cell, seconds in zip(cells, uses, up_s, strict=True):
        for use in of_cell:
            own = demand.operations * use.each + use.per_cell + use.per_cell_hour * seconds / 3600
            lines[use.line] = lines.get(use.line, 0.0) + own
            once = use.once + use.per_hour * sum(up_s) / 3600
            most[use.line, use.of] = max(most.get((use.line, use.of), 0.0), once)
    for (line, _), once in most.items():
        lines[line] += once
    services = sorted(dict.fromkeys(service for service, _, _ in lines), key=LAST.count)
    return {line: lines[line] for line in sorted(lines, key=lambda line: services.index(line[0]))}
