"""The flood's engine: many batches in flight, every message's outcome known or said to be unknown.

What is retried: entries that SQS lists as `Failed` without a sender fault, throttles, 5xx answers and failed
connections. A retry after an *unknown* outcome (the connection broke, or a 5xx came, after the request left) may put
a second copy of a message into the queue; a message that is confirmed after one counts as a possible duplicate, and one
that is given up after one as failed, "maybe in the queue". Nothing else makes a second copy.

A process that is killed, or interrupted twice, leaves up to `in_flight` batches that SQS may have taken and nobody
confirmed; what was confirmed before has been given to `on_accepted`.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import botocore.session

from loader.sqs.signing import Endpoint, Signer, attribute_bytes, attributed_body, request_body
from loader.sqs.wire import Answer, Connection, NotSent, UnknownOutcome
from stampede.phrases import counted
from stampede.stacks.aws_errors import Kind, kind_of_answer
from stampede.stacks.endpoints import shown
from stampede.stacks.sqs_limits import MAX_BATCH_BYTES, MAX_ENTRIES

# Requests at once, a connection each. At 15 ms of latency, 96 keep two cores busy (docs/benchmarks.md); 64 don't quite.
IN_FLIGHT = 96
MAX_ATTEMPTS = 8
BACKOFF_BASE_S, BACKOFF_CAP_S = 0.05, 5.0
# After Ctrl-C the requests under way have this long to be confirmed.
LEAVE_S = 2.0
_IDS = tuple(map(str, range(MAX_ENTRIES)))


class Order(NamedTuple):
    """One message to send: its number within the cell and its body."""

    seq: int
    body: str
    attribute = ""


class Attributed(NamedTuple):
    """One whose body is the user's own: what Stampede says is in its attribute."""

    seq: int
    body: str
    attribute: str


class Accepted(NamedTuple):
    """One message that SQS has confirmed; `sent_at_ms` is when the confirmation came (epoch ms)."""

    seq: int
    message_id: str
    sent_at_ms: int
    possible_duplicate: int


@dataclass
class Outcome:
    """What became of a flood, in messages; `reason` is the first refusal's text.

    Of those sent, `possible_duplicates` may be in the queue twice; of those failed, `maybe_sent` may be there.
    """

    sent: int = 0
    failed: int = 0
    possible_duplicates: int = 0
    maybe_sent: int = 0
    requests: int = 0
    retries: int = 0
    seconds: float = 0.0
    reason: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Sent, failed and how fast, as the loader prints it."""
        rate = self.sent / self.seconds if self.seconds else 0.0
        return {
            "sent": self.sent,
            "failed": self.failed,
            "possible_duplicates": self.possible_duplicates,
            "maybe_sent": self.maybe_sent,
            "requests": self.requests,
            "retries": self.retries,
            "seconds": round(self.seconds, 3),
            "messages_per_s": round(rate, 1),
        }

    def sentence(self) -> str:
        """The outcome in words."""
        text = f"sent {counted(self.sent, 'message')}, {self.failed} failed, in {round(self.seconds, 3):.2f} s"
        if self.possible_duplicates:
            text += f"; {self.possible_duplicates} may be in the queue twice (sent again after an unknown outcome)"
        if self.maybe_sent:
            text += (
                f"; {self.maybe_sent} of the failed may be in the queue (the outcome of the last attempt is unknown)"
            )
        return text + (f"; {self.reason}" if self.failed else "")


@dataclass
class _Batch:
    """Orders on their way, how often they were tried, and of which (by `seq`) an outcome was unknown."""

    orders: list[Order]
    attempt: int = 0
    unknown: set[int] = field(default_factory=set)

    def is_unknown(self) -> None:
        """Nobody knows what the last attempt did."""
        self.unknown.update(order.seq for order in self.orders)


class _Refused(Exception):
    """SQS refuses in a way that no retry mends; ends the flood."""


def send(
    target: Any,
    queue_url: str,
    orders: Iterable[Order],
    on_accepted: Callable[[list[Accepted]], None],
    *,
    in_flight: int = IN_FLIGHT,
) -> Outcome:
    """Send every order to `queue_url` of `target` (a `Target`) and return the outcome; never raises for SQS.

    `on_accepted` is called with each batch's confirmed messages; what it raises ends the flood. Memory does not grow
    with the number of orders. After a refusal that retries can't mend (or MAX_ATTEMPTS failures of one batch) nothing
    more is sent and the rest is counted as failed. Ctrl-C ends it with KeyboardInterrupt once the requests under way
    are confirmed, after LEAVE_S at most; a second one at once.
    """
    return send_to(endpoint_of(target), queue_url, orders, on_accepted, in_flight=in_flight)


def endpoint_of(target: Any) -> Endpoint:
    """The SQS endpoint and credentials of a target, resolved by botocore. Raises RunError without credentials."""
    client = target.client("sqs")
    credentials = target.session().get_credentials()
    ca_bundle = botocore.session.get_session().get_config_variable("ca_bundle")  # AWS_CA_BUNDLE or the profile's
    return Endpoint(client.meta.endpoint_url, target.region, credentials.get_frozen_credentials, ca_bundle=ca_bundle)


def send_to(
    endpoint: Endpoint,
    queue_url: str,
    orders: Iterable[Order],
    on_accepted: Callable[[list[Accepted]], None],
    *,
    in_flight: int = IN_FLIGHT,
) -> Outcome:
    """`send`, for a known endpoint."""
    flood = _Flood(endpoint, queue_url, batches(orders), on_accepted)
    started = time.monotonic()
    asyncio.run(flood.run(in_flight))
    flood.outcome.seconds = time.monotonic() - started
    return flood.outcome


def batches(orders: Iterable[Order]) -> Iterator[list[Order]]:
    """Group orders into batches of at most MAX_ENTRIES entries and MAX_BATCH_BYTES bytes."""
    group: list[Order] = []
    size = 0
    for order in orders:
        length = len(order.body) if order.body.isascii() else len(order.body.encode())
        if order.attribute:
            length += attribute_bytes(order.attribute)
        if group and (len(group) == MAX_ENTRIES or size + length > MAX_BATCH_BYTES):
            yield group
            group, size = [], 0
        group.append(order)
        size += length
    if group:
        yield group


class _Flood:
    """The senders' shared state. All of them run in one thread: a thread each would fight for the lock."""

    def __init__(self, endpoint: Endpoint, queue_url: str, source: Iterator[list[Order]], on_accepted) -> None:
        self._endpoint, self._queue_url, self._source = endpoint, queue_url, source
        self._on_accepted = on_accepted
        self._signer = Signer(endpoint)
        self._stop = asyncio.Event()
        self._at = shown(endpoint.url)
        self._name = f"SQS in {endpoint.region} at {self._at}"
        self.outcome = Outcome()

    async def run(self, in_flight: int) -> None:
        """Send until the source is empty or the flood is stopped; counts what was never tried as failed."""
        sending = asyncio.create_task(self._send(in_flight))
        try:
            await asyncio.shield(sending)
        except asyncio.CancelledError:  # asyncio's answer to the first Ctrl-C
            self._stop.set()
            await asyncio.wait([sending], timeout=LEAVE_S)
            raise
        self.outcome.failed += sum(len(group) for group in self._source)

    async def _send(self, in_flight: int) -> None:
        try:
            async with asyncio.TaskGroup() as senders:
                for _ in range(in_flight):
                    senders.create_task(self._work())
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None

    async def _work(self) -> None:
        connection = Connection(self._endpoint)
        try:
            while not self._stop.is_set() and (group := next(self._source, None)) is not None:
                await self._deliver(connection, _Batch(group))
        finally:
            connection.close()

    async def _deliver(self, connection: Connection, batch: _Batch) -> None:
        """Send one batch until every order is accepted or given up."""
        while True:
            try:
                reason = await self._try(connection, batch)
            except _Refused as refusal:
                return self._give_up(batch, str(refusal))
            if not batch.orders:
                return None
            batch.attempt += 1
            if batch.attempt >= MAX_ATTEMPTS:
                return self._give_up(batch, f"{reason} (after {MAX_ATTEMPTS} attempts)")
            self.outcome.retries += 1
            if await self._stopped_within(random.uniform(0, min(BACKOFF_CAP_S, BACKOFF_BASE_S * 2**batch.attempt))):
                return self._give_up(batch, reason)

    async def _stopped_within(self, seconds: float) -> bool:
        """Wait, unless another sender stops the flood meanwhile."""
        try:
            await asyncio.wait_for(self._stop.wait(), seconds)
        except TimeoutError:
            return False
        return True

    async def _try(self, connection: Connection, batch: _Batch) -> str:
        """One request; takes the accepted orders out of the batch and returns why others remain."""
        orders = batch.orders
        if orders[0].attribute:
            body = attributed_body(self._queue_url, [(order.body, order.attribute) for order in orders])
        else:
            body = request_body(self._queue_url, [order.body for order in orders])
        request = self._signer.request(body)
        self.outcome.requests += 1
        try:
            answer = await connection.post(request)
        except NotSent as error:
            return f"can't connect to {self._at}: {error}"
        except UnknownOutcome as error:
            batch.is_unknown()
            return f"connection to {self._at} broke: {error}"
        if answer.status == 200:
            return self._sort(answer, batch)
        return self._refused_or_retry(answer, batch)

    def _refused_or_retry(self, answer: Answer, batch: _Batch) -> str:
        said = f"{self._name} answered {answer.status} {answer.error_code}: {answer.body.get('message', '')}".strip()
        kind = kind_of_answer(answer.status, answer.error_code)
        if not kind.passes:
            raise _Refused(said)
        if kind is Kind.FAULT:
            batch.is_unknown()
        return said

    def _sort(self, answer: Answer, batch: _Batch) -> str:
        """Split a batch by its answer: accepted orders are reported, the others stay in the batch."""
        try:
            accepted = {entry["Id"]: entry["MessageId"] for entry in answer.body.get("Successful", ())}
            failures = {entry["Id"]: entry for entry in answer.body.get("Failed", ())}
        except (TypeError, KeyError):
            accepted, failures = {}, {}
        numbered = [*zip(_IDS, batch.orders, strict=False)]
        self._accept([(order, accepted[name]) for name, order in numbered if name in accepted], batch)
        left = [(name, order) for name, order in numbered if name not in accepted]
        batch.orders = [order for _, order in left]
        batch.unknown.update(order.seq for name, order in left if name not in failures)
        faults = [entry for entry in failures.values() if entry.get("SenderFault")]
        if faults:
            raise _Refused(f"SQS refused a message: {_reason(faults[0])}")
        if failures:
            return f"SQS listed entries as failed: {_reason(next(iter(failures.values())))}"
        return "SQS left entries out of its answer" if left else ""

    def _accept(self, confirmed: list[tuple[Order, str]], batch: _Batch) -> None:
        if not confirmed:
            return
        now_ms = int(time.time() * 1000)
        unknown = batch.unknown
        accepted = [Accepted(order.seq, name, now_ms, int(order.seq in unknown)) for order, name in confirmed]
        self.outcome.sent += len(accepted)
        if unknown:
            self.outcome.possible_duplicates += sum(message.possible_duplicate for message in accepted)
        self._on_accepted(accepted)

    def _give_up(self, batch: _Batch, reason: str) -> None:
        self._stop.set()
        self.outcome.failed += len(batch.orders)
        self.outcome.maybe_sent += sum(order.seq in batch.unknown for order in batch.orders)
        self.outcome.reason = self.outcome.reason or reason


def _reason(failure: dict[str, Any]) -> str:
    return f"{failure.get('Code', '')} {failure.get('Message', '')}".strip()
