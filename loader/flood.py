"""`stampede flood`: sends N x 10 work orders to the queue, many batches in flight, so that N
functions run at once.

Every order accepted by SQS is written to the run's sent.jsonl; what isn't accepted is said, with a
non-zero exit. A flood that is killed leaves at most the batches then in flight
(loader.sqs.outcome.IN_FLIGHT) accepted and not written down.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from loader.payloads import Payloads
from loader.sqs.message import Order
from loader.sqs.outcome import IN_FLIGHT, Accepted, Outcome
from loader.unfinished_cell import ABANDONED
from stampede.cell import batch_size_of
from stampede.errors import RunError
from stampede.phrases import counted
from stampede.progress import bar, detail, say
from stampede.runs.folder import RunFolder
from stampede.stacks.sqs_limits import MAX_ENTRIES
from stampede.stacks.target import Target

SENT = "sent.jsonl"
# Messages that SQS may have accepted from a flood that was killed, or could write no more, beside
# those written down.
MOST_UNRECORDED = IN_FLIGHT * MAX_ENTRIES


def flood(
    target: Target,
    folder: RunFolder,
    cell: str,
    count: int,
    *,
    order: Mapping[str, Any],
    share: Callable[[int], Mapping[str, Any]] | None = None,
    first: int = 0,
    round_number: int = 0,
    warm_up: bool = False,
    start_at_ms: int | None = None,
    knows_all_sent: bool = True,
    quiet: bool = False,
) -> Outcome:
    """Send `count` work orders of `cell`, numbered after those already sent; each accepted one goes
    to sent.jsonl.

    Each says `order`, the experiment's part, and the index-th of the cell (from 0) `share(index)`;
    in the round `round_number` of a sweep (0: none) the flood begins with the `first` of them.
    `warm_up` orders count in no figure; with `start_at_ms` (epoch ms) the functions wait until
    then. Where an earlier flood of the cell may have been killed (`knows_all_sent` false) a gap is
    left for what it sent last; with `quiet` what goes well is a detail. Returns the outcome even
    when some were refused (`check` raises for that). Raises RunError when the queue can't be
    reached.
    """
    extras = {**order, "warm_up": int(warm_up), **({"round": round_number} if round_number else {})}
    if start_at_ms is not None:
        extras["start_at_ms"] = start_at_ms
    seq = first_seq(folder, cell, knows_all_sent=knows_all_sent)
    if target.experiment.takes_payload:
        payloads, is_batched = Payloads.of_run(folder), batch_size_of(target.outputs) > 1
        messages = payload_messages(
            payloads, folder.run_id, cell, count, extras, seq, first, is_batched=is_batched
        )
    else:
        messages = orders(
            folder.run_id, cell, count, extras, seq, share and (lambda index: share(first + index))
        )
    tell = detail if quiet else say
    tell(f"flooding {target['queue_name']} with {counted(count, 'message')}")
    log = sent_log(folder, cell, warm_up=warm_up, round_number=round_number)
    with bar() as progress:
        task = progress.add_task("flood", total=count, note="messages")

        def accepted(batch: list[Accepted]) -> None:
            log(batch)
            progress.advance(task, len(batch))

        outcome = send(target, target["queue_url"], messages, accepted)
    (say if outcome.failed else tell)(outcome.sentence())
    return outcome


def send(
    target: Target,
    queue_url: str,
    messages: Iterator[Order],
    on_accepted: Callable[[list[Accepted]], None],
) -> Outcome:
    """`loader.sqs.sending.send_to` for a target; only a flood needs aiohttp, which takes 0.1 s to
    import."""
    from loader.sqs.sending import endpoint_of, send_to

    return send_to(endpoint_of(target), queue_url, messages, on_accepted)


def first_seq(folder: RunFolder, cell: str, *, knows_all_sent: bool = True) -> int:
    """The number of the cell's next message: after those already sent.

    Behind an attempt that was cut off, or may have been (`knows_all_sent` false), a gap stays for
    the batches then in flight, even where none of it was confirmed: if they were accepted all the
    same, their records must not pass for those of new messages.
    """
    last_sent, last_cut_off = (
        max((row["seq"] for row in folder.rows(name) if row["cell"] == cell), default=-1)
        for name in ("sent.jsonl", ABANDONED)
    )
    behind_cut_off = last_cut_off + MOST_UNRECORDED if last_cut_off >= 0 else -1
    return max(last_sent + (0 if knows_all_sent else MOST_UNRECORDED), behind_cut_off) + 1


def check(outcome: Outcome) -> None:
    """Raise RunError when a message was not accepted."""
    if outcome.failed:
        count = outcome.sent + outcome.failed
        raise RunError(
            f"{outcome.failed} of {counted(count, 'message')} not accepted: {outcome.reason}"
        )


def orders(
    run_id: str,
    cell: str,
    count: int,
    extras: Mapping[str, Any],
    first_seq: int = 0,
    share: Callable[[int], Mapping[str, Any]] | None = None,
) -> Iterator[Order]:
    """The work orders of one flood, made one by one: a million of them need no memory. They differ
    in `seq`, and in what `share` gives for their place."""
    for index in range(count):
        seq, own = first_seq + index, {} if share is None else share(index)
        yield Order(seq, json.dumps({"run_id": run_id, "cell": cell, "seq": seq, **extras, **own}))


def payload_messages(
    payloads: Payloads,
    run_id: str,
    cell: str,
    count: int,
    extras: Mapping[str, Any],
    first_seq: int = 0,
    first: int = 0,
    *,
    is_batched: bool = False,
) -> Iterator[Order]:
    """The messages of a flood whose bodies are the user's: each work order is an attribute, with
    its payload's number; without it where they are `is_batched`, as the time of a batch is none of
    one payload's."""
    numbers = payloads.draw(first, count)
    share = None if is_batched else lambda index: {"payload": numbers[index]}
    made = orders(run_id, cell, count, extras, first_seq, share)
    for order, number in zip(made, numbers, strict=True):
        yield order._replace(body=payloads.bodies[number], attribute=order.body)


def sent_log(
    folder: RunFolder, cell: str, *, warm_up: bool = False, round_number: int = 0
) -> Callable[[list[Accepted]], None]:
    """The function that appends a batch to the run's sent.jsonl, on disk when it returns.

    A file that isn't there is made with the first batch: a flood that is killed before that leaves
    none. That it can be made is tried at once, before anything is sent. Raises OSError.
    """
    if os.path.lexists(folder.path / SENT):
        folder.appending(SENT).close()
    else:
        tempfile.TemporaryFile(dir=folder.path).close()  # has no name, and is gone at once

    def append(batch: list[Accepted]) -> None:
        of_flood = {"warm_up": int(warm_up), "round": round_number}
        folder.append(
            SENT,
            ({"cell": cell, **accepted._asdict(), **of_flood} for accepted in batch),
        )

    return append
