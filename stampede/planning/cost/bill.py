"""The lines of the bill of a sweep's cells, as numbers: pure arithmetic over prices.json.

Left out: the free tier, retries, taxes, and what stays after `destroy` (nothing).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from stampede.experiment import Use
from stampede.planning import access_log
from stampede.planning.cost import durations
from stampede.planning.cost.prices import USUAL_REGION, Prices
from stampede.planning.demand import Demand
from stampede.stacks.sqs_limits import MAX_BATCH_BYTES, MAX_ENTRIES

# What is sent or received at once is one request for each 64 KB of it (SQS pricing, "Size of Payloads").
CHUNK_BYTES = 64 * 2**10
FREE_TMP_MB = 512
# START, the record, END and REPORT are 800 bytes together [tried], and CloudWatch adds 26 for each event.
LOG_BYTES_PER_MESSAGE = 1024
# Every saved query once over all lines of the run.
INSIGHTS_SCANS = 7
# While the queue is empty it is asked every 20 s: by five connections of Lambda's trigger, or by each host. Counted for
# the whole run.
EMPTY_RECEIVES_PER_HOUR = 3600 / 20
TRIGGER_CONNECTIONS = 5
# Lambda's guide (SQS event source mappings, provisioned mode): a poller makes up to 10 polls a second. Fewer while the
# pollers aren't all needed, and how many an empty queue gets isn't documented, so this is the most there can be.
POLLS_PER_POLLER_S = 10
# Of `drain`: two GetQueueAttributes every 5 s.
DRAIN_REQUESTS_PER_HOUR = 2 * 3600 / 5
BYTES_IN_A_GB = 2**30  # AWS's GB for storage, logs and memory


@dataclass(frozen=True)
class Item:
    """One line of the bill; `usd_per_unit` None: not known. `price` is its name in prices.json, of `region`."""

    service: str
    what: str
    quantity: float
    unit: str
    usd_per_unit: float | None
    price: str = ""
    region: str = USUAL_REGION

    @property
    def usd(self) -> float | None:
        """Quantity times price, None where the price isn't known."""
        return None if self.usd_per_unit is None else self.quantity * self.usd_per_unit

    def as_dict(self) -> dict[str, Any]:
        """The item as it stands in run.json."""
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
    cells: list[Demand], around_s: float, prices: Prices, message_bytes: Sequence[tuple[int, float]] = ()
) -> list[Item]:
    """The lines of the bill of `cells`, as foreseen on AWS, of which `around_s` seconds more are spent beside them;
    `message_bytes` as `Given` has them."""

    def item(service: str, what: str, price: str, quantity: float) -> Item:
        known = prices[price]
        return Item(service, what, quantity, known.unit, known.usd, price, known.region)

    messages = sum(demand.all_messages for demand in cells)
    requests = sum(_queue_requests(demand, message_bytes) for demand in cells if not demand.usage.in_athena)
    logs_gb = messages * LOG_BYTES_PER_MESSAGE / BYTES_IN_A_GB
    hours = (sum(durations.cell_s(demand, "aws") for demand in cells) + around_s) / 3600
    polls = _pollers_s(cells, around_s) * POLLS_PER_POLLER_S
    logged = [demand for demand in cells if access_log.is_on(demand.cell.values)]
    s3_lines = access_log.lines(_logged_lines(logged), hours) if logged else {}
    receivers = max(demand.concurrency if demand.usage.on_hosts else TRIGGER_CONNECTIONS for demand in cells)
    idle_per_hour = EMPTY_RECEIVES_PER_HOUR * receivers + DRAIN_REQUESTS_PER_HOUR
    return [
        *_lambda_items([demand for demand in cells if demand.usage.in_lambda], around_s, item),
        *(item(*line, quantity) for line, quantity in _used(cells, around_s).items()),
        item("SQS", "send, receive, delete", "sqs_request", requests),
        item("SQS", "receives from an empty queue", "sqs_request", hours * idle_per_hour),
        *([item("SQS", "provisioned pollers, at most", "sqs_request", polls)] if polls else []),
        item("CloudWatch", "log lines", "logs_ingested_gb", logs_gb),
        item("CloudWatch", "Logs Insights scans", "logs_scanned_gb", INSIGHTS_SCANS * logs_gb),
        *(item(*line, quantity) for line, quantity in s3_lines.items()),
    ]


def _lambda_items(cells: list[Demand], around_s: float, item: Callable[..., Item]) -> list[Item]:
    """The lines of what runs in functions."""
    if not cells:
        return []
    items, by_architecture = [], defaultdict(list)
    for demand in cells:
        by_architecture[demand.cell.values["architecture"]].append(demand)
    for name, own in sorted(by_architecture.items()):
        gb_s = sum(demand.memory_mb / 1024 * _billed_s(demand) for demand in own)
        items.append(item("Lambda", f"compute, {name}", f"lambda_gb_s_{name}", gb_s))
    tmp_gb_s = sum(max(0, demand.usage.tmp_mb - FREE_TMP_MB) / 1024 * _billed_s(demand) for demand in cells)
    items.append(item("Lambda", "requests", "lambda_request", sum(demand.all_messages for demand in cells)))
    items.append(item("Lambda", "/tmp above 512 MB", "lambda_tmp_gb_s", tmp_gb_s))
    if pollers_s := _pollers_s(cells, around_s):
        items.append(item("Lambda", "provisioned pollers", "lambda_poller_hour", pollers_s / 3600))
    return items


def _queue_requests(demand: Demand, message_bytes: Sequence[tuple[int, float]]) -> float:
    """What a cell asks SQS for: batches sent, one for what prepares it, and each message received and deleted."""
    mean_bytes = sum(size * share for size, share in message_bytes)
    batch = max(1, min(MAX_ENTRIES, int(MAX_BATCH_BYTES / max(1, mean_bytes))))

    def sent(messages: float) -> int:
        return ceil(messages / batch) * max(1, ceil(min(messages, batch) * mean_bytes / CHUNK_BYTES))

    received = sum(ceil(size / CHUNK_BYTES) * share for size, share in message_bytes) or 1
    batches = demand.cell.rounds * sent(demand.cell.messages / demand.cell.rounds) + sent(demand.cell.warm_up_messages)
    prepared = demand.all_messages - demand.operations
    return batches + prepared + (received + 1) * demand.all_messages


def _pollers_s(cells: list[Demand], around_s: float) -> float:
    """Seconds of all provisioned pollers, at their maximum from their cell's apply to the next one's or the end."""
    most = [(demand.pollers[1], durations.cell_s(demand, "aws")) for demand in cells if demand.pollers]
    return sum(pollers * seconds for pollers, seconds in most) + max(most, default=(0, 0))[0] * around_s


def _billed_s(demand: Demand) -> float:
    """Seconds of Lambda in one cell: the operations, one cold start a function, which AWS bills since August 2025, and
    the wait at the start barrier."""
    preparing_s = min(demand.preparation_s("aws"), demand.timeout_s)
    environments = min(demand.concurrency, demand.operations)
    return demand.working_s + preparing_s + environments * (demand.start_s + demand.cell.rounds * demand.barrier_s)


def _used(cells: list[Demand], around_s: float) -> dict[tuple[str, str, str], float]:
    """The quantities of the experiment's own lines, by service, words and price, those of a service together.

    What is up with its cell alone is so for the cell's time; for that around all cells, with the first.
    """
    hours = [durations.cell_s(demand, "aws") / 3600 for demand in cells]
    hours[0] += around_s / 3600
    lines: dict[tuple[str, str, str], list[tuple[float, Use]]] = {}
    for demand, up_hours in zip(cells, hours, strict=True):
        for use in demand.usage.uses:
            quantity = demand.operations * use.each + use.per_cell + use.per_cell_hour * up_hours
            lines.setdefault(use.line, []).append((quantity, use))
    services = list(dict.fromkeys(service for service, _, _ in lines))
    used = {}
    for line in sorted(lines, key=lambda line: services.index(line[0])):
        quantities, uses = zip(*lines[line], strict=True)
        used[line] = sum(quantities) + _once(sum(hours), uses)
    return used


def _logged_lines(cells: list[Demand]) -> float:
    """What the requests of these cells leave in S3's access logs."""
    requests = {
        use.line: use.log_lines
        for demand in cells
        for use in demand.usage.uses
        if use.price in access_log.REQUEST_PRICES
    }
    used = _used(cells, 0.0)
    return sum(used[line] * log_lines for line, log_lines in requests.items())


def _once(hours: float, uses: Sequence[Use]) -> float:
    """What is used once for all cells, and while a stack is up: the largest of each thing that it is of."""
    most: dict[str, float] = {}
    for use in uses:
        most[use.of] = max(most.get(use.of, 0.0), use.once + (use.per_hour and use.per_hour * hours))
    return sum(most.values())
