"""The flood's engine: many batches in flight, every message's outcome known or reported as unknown.

Retries follow entries that SQS lists as `Failed` without a sender fault, throttling, 5xx answers
and failed connections. After an *unknown* outcome (the connection broke, or a 5xx came, after the
request was sent) a retry may put a second copy of a message into the queue: a message confirmed
later counts as a possible duplicate, one that is given up as failed and "maybe in the queue".
Nothing else makes a second copy.

A process that is killed, or interrupted twice, leaves up to `in_flight` batches that SQS may have
accepted without confirming them; `on_accepted` has received everything confirmed before.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Any

from loader.sqs.message import IN_FLIGHT, Accepted, Order, Outcome, batches, request_body
from loader.sqs.service import Endpoint, Failure, opened, send_message_batch
from stampede.stacks.target import Target

MAX_ATTEMPTS = 8
BACKOFF_BASE_S, BACKOFF_CAP_S = 0.05, 5.0
# How long Ctrl-C waits for the confirmation of the requests in flight.
LEAVE_S = 2.0


def send(
    target: Target,
    orders: Iterable[Order],
    on_accepted: Callable[[list[Accepted]], None],
) -> Outcome:
    """`send_to` the queue of a target, with the credentials and settings that botocore resolves.
    Raises RunError without credentials."""
    session = target.session
    endpoint = Endpoint(
        target.client("sqs").meta.endpoint_url,
        target.region,
        session.get_credentials().get_frozen_credentials,
        # AWS_CA_BUNDLE or the profile's
        ca_bundle=session._session.get_config_variable("ca_bundle"),
    )
    return send_to(endpoint, target["queue_url"], orders, on_accepted)


def send_to(
    endpoint: Endpoint,
    queue_url: str,
    orders: Iterable[Order],
    on_accepted: Callable[[list[Accepted]], None],
    *,
    in_flight: int = IN_FLIGHT,
) -> Outcome:
    """Send every order to a queue and return the outcome; raises nothing for SQS's errors.

    `on_accepted` is called with each batch's confirmed messages; an exception in it ends the flood.
    Memory does not grow with the number of orders. After a refusal that retries can't overcome (or
    MAX_ATTEMPTS failures of one batch) nothing more is sent, and the rest counts as failed. Ctrl-C
    raises KeyboardInterrupt once the requests in flight are confirmed, after at most LEAVE_S; a
    second Ctrl-C at once.
    """
    flood = _Flood(queue_url, orders, on_accepted)
    started = time.monotonic()
    asyncio.run(flood.run(endpoint, in_flight))
    flood.outcome.seconds = time.monotonic() - started
    return flood.outcome


class _Flood:
    """The shared state of the senders, which all run in one thread. `_unknown` are the numbers of
    the messages that SQS may have accepted without confirming them."""

    def __init__(self, queue_url: str, orders: Iterable[Order], on_accepted: Callable) -> None:
        self._queue_url, self._source, self._on_accepted = queue_url, batches(orders), on_accepted
        self._unknown: set[int] = set()
        self._is_stopped = False
        self.outcome = Outcome()

    async def run(self, endpoint: Endpoint, in_flight: int) -> None:
        """Send until the source is empty or the flood is stopped; counts unsent orders as
        failed."""
        sending = asyncio.create_task(self._send(endpoint, in_flight))
        try:
            await asyncio.shield(sending)
        except asyncio.CancelledError:  # asyncio's answer to the first Ctrl-C
            self._is_stopped = True
            await asyncio.wait([sending], timeout=LEAVE_S)
            raise
        self.outcome.failed += sum(map(len, self._source))

    async def _send(self, endpoint: Endpoint, in_flight: int) -> None:
        async with opened(endpoint, in_flight) as session:
            post = partial(send_message_batch, session, endpoint)
            await asyncio.gather(*(self._work(post) for _ in range(in_flight)))

    async def _work(self, post: Callable[[bytes], Awaitable[dict[str, Any]]]) -> None:
        while not self._is_stopped and (batch := next(self._source, None)) is not None:
            await self._deliver(post, batch)

    async def _deliver(self, post: Callable, batch: list[Order]) -> None:
        """Send one batch until every order is accepted or given up, which stops the flood."""
        for attempt in range(1, MAX_ATTEMPTS + 1):
            batch, failure = await self._try(post, batch)
            if not batch:
                return
            if attempt == MAX_ATTEMPTS or not failure.passes:
                break
            await asyncio.sleep(random.uniform(0, min(BACKOFF_CAP_S, BACKOFF_BASE_S * 2**attempt)))
            if self._is_stopped:
                break
            self.outcome.retries += 1
        self._is_stopped = True
        self.outcome.failed += len(batch)
        self.outcome.maybe_sent += sum(order.seq in self._unknown for order in batch)
        self.outcome.reason = self.outcome.reason or f"{failure} (attempt {attempt})"

    async def _try(self, post: Callable, batch: list[Order]) -> tuple[list[Order], Failure]:
        """Send one request; returns the orders that remain, and why. Entry ids are never reused, so
        a late or repeated answer to another request confirms nothing here."""
        self.outcome.requests += 1
        entries = {f"{self.outcome.requests}-{index}": order for index, order in enumerate(batch)}
        try:
            answer = await post(request_body(self._queue_url, entries))
        except Failure as failure:
            if failure.is_unknown:
                self._unknown.update(order.seq for order in batch)
            return batch, failure
        accepted, failed = _rows(answer, "Successful"), _rows(answer, "Failed")
        self._accept(
            {order.seq: accepted[name] for name, order in entries.items() if name in accepted}
        )
        remaining = {name: order for name, order in entries.items() if name not in accepted}
        self._unknown.update(order.seq for name, order in remaining.items() if name not in failed)
        refused = [failed[name] for name in remaining if name in failed]
        return list(remaining.values()), _why(refused)

    def _accept(self, rows: Mapping[int, Mapping[str, Any]]) -> None:
        """Hand over messages that SQS has confirmed, by their numbers."""
        now_ms, unknown = int(time.time() * 1000), self._unknown & rows.keys()
        self._unknown -= unknown
        self.outcome.sent += len(rows)
        self.outcome.possible_duplicates += len(unknown)
        self._on_accepted(
            [
                Accepted(seq, str(row.get("MessageId")), now_ms, int(seq in unknown))
                for seq, row in rows.items()
            ]
        )


def _rows(answer: Mapping[str, Any], name: str) -> dict[str, dict[str, Any]]:
    """The rows of an answer under `name`, by their entry ids."""
    listed = answer.get(name)
    rows = listed if isinstance(listed, list) else []
    return {str(row.get("Id")): row for row in rows if isinstance(row, dict)}


def _why(failed: list[dict[str, Any]]) -> Failure:
    """Why entries remain, from those listed as failed: a refusal that no retry can overcome comes
    first."""
    lasting = [row for row in failed if row.get("SenderFault")]
    for row in lasting or failed:
        return Failure(
            f"SQS refused a message: {row.get('Code')} {row.get('Message')}", passes=not lasting
        )
    return Failure("SQS left entries out of its answer")
