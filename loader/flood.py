"""`stampede flood`: sends N x 10 work orders to the queue, with many batches in flight, so that N
functions run at once.

Every order that SQS accepts is written to the run's sent.jsonl; the others are reported, with a
non-zero exit status. A flood that is killed leaves at most the batches in flight
(loader.sqs.message.IN_FLIGHT) accepted and not written.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from loader.payloads import Payloads
from loader.sqs.message import IN_FLIGHT, Accepted, Order, Outcome
from stampede.cell import batch_size_of
from stampede.phrases import counted
from stampede.progress import bar, detail, say
from stampede.runs.folder import ABANDONED, RunFolder
from stampede.stacks.sqs_limits import MAX_ENTRIES
from stampede.stacks.target import Target

SENT = "sent.jsonl"
# The most messages that SQS may have accepted from a flood that was killed, or couldn't write them.
MOST_UNRECORDED = IN_FLIGHT * MAX_ENTRIES

# A message's own keys in its work order, by its place in the flood.
Share = Callable[[int], Mapping[str, Any]]


def flood(
    target: Target,
    folder: RunFolder,
    cell: str,
    indices: range,
    order: Mapping[str, Any],
    share: Share = lambda index: {},
    *,
    knows_all_sent: bool = True,
    quiet: bool = False,
) -> Outcome:
    """Send a work order of `cell` for each of `indices`, its messages from 0, and write each
    accepted one to sent.jsonl. They are numbered after those already sent.

    All contain `order`, which may have the keys `warm_up` (1: counts in no figure), `round` and
    `start_at_ms`, and each its own `share(index)`. If an earlier flood of the cell may have been
    killed (`knows_all_sent` false), a gap in the numbers is left for what it sent last. `quiet`
    reports only problems. Returns the outcome even if messages were refused (its `check` raises for
    that). Raises UsageError without credentials.
    """
    from loader.sqs import sending  # aiohttp takes 0.1 s

    seq = first_seq(folder, cell, knows_all_sent=knows_all_sent)
    if target.experiment.takes_payload:
        messages = payload_messages(
            Payloads.of_run(folder),
            folder.run_id,
            cell,
            indices,
            order,
            seq,
            is_batched=batch_size_of(target.outputs) > 1,
        )
    else:
        messages = orders(folder.run_id, cell, indices, order, seq, share)
    tell = detail if quiet else say
    tell(f"flooding {target['queue_name']} with {counted(len(indices), 'message')}")
    log = sent_log(folder, cell, order)
    with bar() as progress:
        task = progress.add_task("flood", total=len(indices), note="messages")

        def accepted(batch: list[Accepted]) -> None:
            log(batch)
            progress.advance(task, len(batch))

        outcome = sending.send(target, messages, accepted)
    (say if outcome.failed else tell)(outcome.sentence())
    return outcome


def first_seq(folder: RunFolder, cell: str, *, knows_all_sent: bool = True) -> int:
    """The number of the cell's next message.

    After an attempt that may have been cut off (`knows_all_sent` false), a gap is left for its
    batches in flight, even if none was confirmed: SQS may have accepted them, and their records
    must not pass for those of new messages. The numbers that were set aside have that gap already.
    """
    rows = itertools.chain(folder.rows(SENT), folder.rows(ABANDONED))
    last = max((row["seq"] for row in rows if row["cell"] == cell), default=-1)
    return last + 1 + (0 if knows_all_sent else MOST_UNRECORDED)


def orders(
    run_id: str,
    cell: str,
    indices: range,
    order: Mapping[str, Any],
    first_seq: int = 0,
    share: Share = lambda index: {},
) -> Iterator[Order]:
    """The work orders of one flood, made one by one: a million of them need no memory. Each has its
    own `seq` and `share(index)`."""
    common = {**order, "warm_up": order.get("warm_up", 0)}
    for seq, index in enumerate(indices, first_seq):
        own = {"run_id": run_id, "cell": cell, "seq": seq, **common, **share(index)}
        yield Order(seq, json.dumps(own))


def payload_messages(
    payloads: Payloads,
    run_id: str,
    cell: str,
    indices: range,
    order: Mapping[str, Any],
    first_seq: int = 0,
    *,
    is_batched: bool = False,
) -> Iterator[Order]:
    """The messages of a flood whose bodies are the user's; the work order is an attribute. It has
    the payload's number unless `is_batched`: the time of a batch belongs to no single payload."""
    numbers = payloads.draw(indices)

    def share(index: int) -> dict[str, Any]:
        return {} if is_batched else {"payload": numbers[index - indices.start]}

    made = orders(run_id, cell, indices, order, first_seq, share)
    for message, number in zip(made, numbers, strict=True):
        yield message._replace(body=payloads.bodies[number], attribute=message.body)


def sent_log(
    folder: RunFolder, cell: str, order: Mapping[str, Any]
) -> Callable[[list[Accepted]], None]:
    """A function that appends a batch of work orders like `order` to the run's sent.jsonl, written
    when it returns.

    The first batch creates the file, so a flood killed before it leaves none. Raises OSError, or
    UsageError, here and now, before anything is sent, if a file that is there can't be written.
    """
    if os.path.lexists(folder.path / SENT):
        folder.appending(SENT).close()
    of_flood = {name: order.get(name, 0) for name in ("warm_up", "round")}
    return lambda batch: folder.append(
        SENT, ({"cell": cell, **accepted._asdict(), **of_flood} for accepted in batch)
    )
