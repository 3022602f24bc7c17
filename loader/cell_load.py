"""What is sent to a cell: its messages and, if they share a list of keys, one that prepares it.

A message's part of a shared list follows from its place in the flood, not from its number: a cell
that is run again after a kill begins with the first part again. Warm-ups take the same parts and do
the same work; the preparation, which comes after them, removes what they leave.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from loader.drain import drain
from loader.flood import check as check_flood
from loader.flood import first_seq, flood
from loader.seeding import words_of
from loader.sqs.outcome import Outcome
from stampede.errors import RunError
from stampede.experiment import DataObject, Execution
from stampede.progress import say
from stampede.runs.folder import RunFolder
from stampede.stacks.target import Target


@dataclass(frozen=True)
class CellLoad:
    """The work orders of a cell on an applied stack.

    All contain `order`, the index-th of a flood also `share(index)`. `count` is the number of
    messages in a flood, if the experiment sets it. `preparation` is the content of the message that
    precedes the flood, None without one. `execution` is the query that Athena runs for each message
    instead of a flood, None where functions do the work. `proof` is a small work order that shows
    whether the function has its permissions, None if the experiment has none or Athena does the
    work.
    """

    order: Mapping[str, Any]
    share: Callable[[int], Mapping[str, Any]]
    count: int | None
    preparation: Mapping[str, Any] | None
    execution: Execution | None
    proof: Mapping[str, Any] | None = None

    @classmethod
    def of(
        cls, target: Target, in_order: Mapping[str, Any], objects: Sequence[DataObject]
    ) -> CellLoad:
        """The load of the stack with the usual number of messages; `in_order` are the axes of the
        work order."""
        experiment = target.experiment
        usual = experiment.messages_per_concurrency
        values = {"messages_per_concurrency": usual, **target.outputs, **in_order}
        order = experiment.order(values, objects)
        execution, proof = experiment.execution(values), experiment.proof(values)
        return cls(
            order=order,
            share=partial(experiment.of_message, values),
            count=experiment.messages(values),
            preparation=experiment.preparation(values),
            execution=execution,
            proof={**order, **proof} if proof is not None and execution is None else None,
        )

    @property
    def warm_up_share(self) -> Callable[[int], Mapping[str, Any]]:
        """`share` for warm-ups, which may outnumber the messages of a flood."""
        share, count = self.share, self.count
        return share if count is None else lambda index: share(index % count)


def prepare(
    target: Target,
    folder: RunFolder,
    cell: str,
    load: CellLoad,
    *,
    deadline_s: float | None = None,
    **options: Any,
) -> Outcome | None:
    """Send the message that prepares the cell and wait for its end; returns None if the cell needs
    none.

    It is a warm-up: recorded, and in no figure. `deadline_s` is the drain's, `options` are the
    flood's. Raises RunError if it fails: the flood would meet the remains of an earlier one.
    """
    if load.preparation is None:
        return None
    say(f"preparing {cell} with one message")
    seq = first_seq(folder, cell, knows_all_sent=options.get("knows_all_sent", True))
    outcome = flood(
        target, folder, cell, 1, order={**load.order, **load.preparation}, warm_up=True, **options
    )
    check_flood(outcome)
    rest = drain(target, folder, cells=[cell], quiet=True, deadline_s=deadline_s)
    logged = {
        row["status"]: words_of(row)
        for row in folder.rows("records.jsonl")
        if (row["cell"], row["seq"]) == (cell, seq)
    }
    if rest.left or "ok" not in logged:
        why = rest.left or rest.ended_early or logged.get("error", "no record is logged")
        raise RunError(f"{cell} could not be prepared, so it isn't flooded: {why}")
    return outcome
