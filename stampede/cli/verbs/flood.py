"""Send the messages of one cell to the queue.

Then N functions run at once. If the messages share a list of keys, a first
message prepares the destination, and the others follow when it is done. If they
are queries, Athena runs them one after the other.

examples:
  stampede flood
      a new run, with the experiment's number of messages x N
  stampede flood --messages 100 --dry-run
      print the first of 100 messages, and send nothing
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from loader.payloads import DEFAULT, Payloads
from loader.sqs.message import Outcome
from stampede.cell import FORMAT, Cell
from stampede.cli.arguments import (
    add,
    add_flag,
    add_own,
    add_stack,
    cell,
    order_of,
    payloads_of,
    positive_int,
)
from stampede.errors import UsageError
from stampede.phrases import counted
from stampede.planning.settings import cell_name
from stampede.progress import say
from stampede.runs.description import is_flood_by_hand
from stampede.runs.folder import RunFolder, checked_run_id
from stampede.tables import print_rows
from stampede.variable_rules import RULES

if TYPE_CHECKING:
    from loader.cell_load import CellLoad
    from stampede.experiment import DataObject
    from stampede.stacks.target import Target


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    add_stack(parser)
    add_own(
        parser,
        "--messages",
        "how many messages to send (default: the experiment's number x N x batch_size)",
        "N",
        positive_int,
    )
    add(parser, "--run", metavar="RUN_ID", help="add to this run, or give a new run this id")
    add_own(parser, "--cell", "name of the cell (default: the stack's settings)", "NAME", cell)
    add_flag(parser, "--dry-run", "print one message and the count; send nothing")
    add(parser, "--order", "--payload", "--results-dir", "--format")


def run(arguments: argparse.Namespace) -> int:
    """Send the messages; prints the run's id and how many were sent and failed on stdout. Raises
    RunError if any was not accepted."""
    from loader.cell_load import CellLoad
    from loader.dataset import check_manifest, stored_objects
    from stampede.stacks import stack_lock
    from stampede.stacks import target as targets

    target = targets.resolve(arguments.target)
    experiment, in_order = target.experiment, order_of(target, arguments.order)
    cell = _cell(target, in_order, arguments.cell)
    objects = stored_objects(target)
    load = CellLoad.of(target, in_order, objects)
    usual = load.count or cell.n * cell.batch_size * experiment.messages_per_concurrency
    count = arguments.messages or usual
    if experiment.shared_list is not None and count != load.count:
        raise UsageError(
            f"--messages: the applied {experiment.name} takes {counted(load.count, 'message')}, "
            f"which share one list of keys, got {count}",
            "leave it out",
        )
    payloads = payloads_of(experiment, arguments.payload, [cell])
    check_manifest(target)
    if arguments.run is not None:
        folder = RunFolder(arguments.results_dir / checked_run_id(arguments.run))
        _refuse_run_of_another(target, folder)
    if arguments.dry_run:
        _print_dry_run(target, cell.name, load, count, payloads)
        return 0
    with stack_lock.holding(target.option, "flood", arguments.run or "") as note_run:
        if load.preparation is not None:
            _refuse_beside_others(target)
        folder = RunFolder.create(arguments.results_dir, arguments.run)
        note_run(folder.run_id)
        try:
            is_new = _describe(folder, target, cell, payloads, objects)
        finally:
            folder.remove_if_empty()
        outcome = _send(target, folder, cell.name, load, count, is_new)
    print_rows([{"run_id": folder.run_id, "cell": cell.name} | outcome.as_dict()], arguments.format)
    outcome.check()
    return 0


def _cell(target: Target, in_order: Mapping[str, Any], name: str | None) -> Cell:
    """The cell of a flood by hand, from the applied stack and the keys of its messages."""
    axes, outputs = target.experiment.axes, target.outputs
    applied = [axis.variable for axis in axes if not (axis.is_variant or axis.in_order)]
    values = {variable: outputs[variable] for variable in RULES if variable in outputs}
    name = name or cell_name({variable: target[variable] for variable in applied} | in_order)
    return Cell(name, {**values, **in_order}, tuple(axes))


def _refuse_run_of_another(target: Target, folder: RunFolder) -> None:
    """Raise UsageError where the run belongs to another stack: drain couldn't account for both."""
    from stampede.stacks.place import other_stack, refuse_another

    folder.refuse_unwritable()
    stored = folder.read_json("run.json", {})
    refuse_another("--run", folder.run_id, stored, target.place)
    wrong = other_stack(target.outputs, stored)
    if (form := stored.get("format", FORMAT)) != FORMAT or not is_flood_by_hand(stored):
        wrong = f"it is a sweep, which has its own cells, or of another version (format {form})"
    if wrong:
        raise UsageError(f"--run {folder.name}: {wrong}", "leave --run out")


def _refuse_beside_others(target: Target) -> None:
    """Raise UsageError while any message is queued or in progress: the preparation would delete
    the objects that it writes."""
    from loader.collecting import message_counts
    from stampede.stacks.target import explained

    with explained("reading the queue", target):
        waiting = sum(message_counts(target.client("sqs"), target["queue_url"]))
    if waiting:
        raise UsageError(
            f"{target['experiment']}: {counted(waiting, 'earlier message')} in the queue or in "
            "progress, and this flood first empties the destination",
            "wait for them with `stampede drain`",
        )


def _describe(
    folder: RunFolder,
    target: Target,
    cell: Cell,
    payloads: Payloads | None,
    objects: Sequence[DataObject],
) -> bool:
    """Write down what will be sent; returns whether the cell is new to the run. Raises UsageError
    where the run has sent other payloads: a payload's number in a record would be ambiguous."""
    from stampede.runs.description import RunDescription

    if payloads is not None:
        if folder.read_json("run.json", {}) and Payloads.of_run(folder).text != payloads.text:
            raise UsageError(
                f"--payload: run {folder.run_id} sends another payload",
                "leave it out, or start a new run",
            )
        payloads.store(folder)
    description = RunDescription(folder, target["experiment"], target.place)
    for own in (item for item in objects if item.bucket):
        description.hold("--run", own)
    is_new = cell.name not in description.cells
    description.add_cell(cell, target)
    return is_new


def _send(
    target: Target, folder: RunFolder, cell: str, load: CellLoad, count: int, is_new: bool
) -> Outcome:
    """Prepare the cell if necessary, and send its messages, or have Athena run its queries. If the
    cell isn't new, an earlier flood may have sent messages that it never wrote down. An
    interruption gets a note with the command that waits for the messages."""
    from loader.cell_load import prepare

    try:
        prepare(target, folder, cell, load, knows_all_sent=is_new)
        knows_all_sent = is_new or load.preparation is not None
        return load.send(target, folder, cell, range(count), knows_all_sent=knows_all_sent)
    except (KeyboardInterrupt, OSError) as error:
        sent = counted(sum(1 for _ in folder.rows("sent.jsonl")), "message")
        error.add_note(
            f"run {folder.run_id} has sent {sent}; "
            f"`stampede drain --run {folder.as_argument}` waits for what is in the queue"
        )
        raise


def _print_dry_run(
    target: Target, cell: str, load: CellLoad, count: int, payloads: Payloads | None
) -> None:
    """Print one message, or the query, on stdout, and the count on stderr."""
    from loader.flood import orders
    from stampede import terminal

    if load.execution is not None:
        queries = counted(count, "query", "queries")
        say(f"would run {queries} in Athena's workgroup {load.execution.workgroup}, such as:")
        terminal.hand_over(load.execution.sql)
        return
    if load.preparation is not None:
        say(f"would first send a message that prepares the destination: {load.preparation}")
    say(f"would send {counted(count, 'message')} to {target['queue_name']}, such as:")
    [order] = orders("RUN_ID", cell, range(1), load.order, share=load.share)
    own = (payloads or Payloads.of_text(DEFAULT)).bodies[0]
    terminal.hand_over(own if target.experiment.takes_payload else order.body)
