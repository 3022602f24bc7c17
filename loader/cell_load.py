"""What is sent to a cell: its messages and, if they share a list of keys, one that prepares it.

A message's part of a shared list follows from its place in the flood, not from its number: a cell
that is run again after a kill begins with the first part again. Warm-ups take the same parts and do
the same work; the preparation, which comes after them, removes what they leave.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loader.drain import drain
from loader.executions import carry_out
from loader.flood import Share, first_seq, flood
from loader.invocations import words_of
from loader.sqs.message import Outcome
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
    share: Share
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
        order, count = experiment.order(values, objects), experiment.messages(values)
        execution, proof = experiment.execution(values), experiment.proof(values)
        return cls(
            order=order,
            # Warm-ups may outnumber the messages of a flood.
            share=lambda index: experiment.of_message(values, index % count if count else index),
            count=count,
            preparation=experiment.preparation(values),
            execution=execution,
            proof={**order, **proof} if proof is not None and execution is None else None,
        )

    def send(
        self,
        target: Target,
        folder: RunFolder,
        cell: str,
        indices: range,
        *,
        knows_all_sent: bool = True,
        quiet: bool = False,
        **keys: int,
    ) -> Outcome:
        """Flood the cell with these of its messages, or have Athena carry them out; `keys` are
        further ones of the work orders, as for `flood`."""
        order = {**self.order, **keys}
        if self.execution is not None:
            return carry_out(
                target, folder, cell, indices, self.execution, order, self.share, quiet=quiet
            )
        return flood(
            target,
            folder,
            cell,
            indices,
            order,
            self.share,
            knows_all_sent=knows_all_sent,
            quiet=quiet,
        )


def prepare(
    target: Target,
    folder: RunFolder,
    cell: str,
    load: CellLoad,
    *,
    deadline_s: float | None = None,
    knows_all_sent: bool = True,
) -> None:
    """Send the message that prepares the cell, if it needs one, and wait for its end.

    It is a warm-up: recorded, and in no figure. `deadline_s` is the drain's, `knows_all_sent` the
    flood's. Raises RunError if it fails: the flood would meet the remains of an earlier one.
    """
    if load.preparation is None:
        return
    say(f"preparing {cell} with one message")
    seq = first_seq(folder, cell, knows_all_sent=knows_all_sent)
    order = {**load.order, **load.preparation, "warm_up": 1}
    flood(target, folder, cell, range(1), order, knows_all_sent=knows_all_sent).check()
    rest = drain(target, folder, cells=[cell], quiet=True, deadline_s=deadline_s)
    logged = {
        row["status"]: words_of(row)
        for row in folder.rows("records.jsonl")
        if (row["cell"], row["seq"]) == (cell, seq)
    }
    if rest.left or "ok" not in logged:
        why = rest.left or rest.ended_early or logged.get("error", "no record is logged")
        raise RunError(f"{cell} could not be prepared, so it isn't flooded: {why}")
