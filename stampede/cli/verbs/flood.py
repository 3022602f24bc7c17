"""Send the messages of one cell to the queue.

So N functions run at once. Where the messages share a list of keys, one message
goes first, is waited for, and prepares the destination. Where they are queries,
Athena runs them one after the other.

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
from loader.sqs.outcome import Outcome
from stampede.cell import FORMAT, Cell
from stampede.cli.arguments import add, add_stack, cell, order_of, payloads_of, positive_int
from stampede.errors import UsageError
from stampede.phrases import counted
from stampede.planning.settings import cell_name
from stampede.progress import say
from stampede.runs.description import is_flood_by_hand
from stampede.runs.folder import RunFolder, checked_run_id
from stampede.variable_rules import RULES

if TYPE_CHECKING:
    from loader.cell_load import CellLoad
    from stampede.experiment import DataObject
    from stampede.stacks.target import Target


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    add_stack(parser)
    count = "how many messages to send (default: the experiment's number x N x batch_size)"
    parser.add_argument("--messages", metavar="N", type=positive_int, help=count)
    add(
        parser,
        "--run",
        metavar="RUN_ID",
        help="add to this run, or give a new run this id (default: a new run)",
    )
    name = "name of the cell (default: the stack's settings)"
    parser.add_argument("--cell", metavar="NAME", type=cell, help=name)
    dry_run = "print a message and their count, and send nothing (default: send)"
    parser.add_argument("--dry-run", action="store_true", help=dry_run)
    add(parser, "--order", "--payload", "--results-dir", "--format")


def run(arguments: argparse.Namespace) -> int:
    """Send the messages; prints sent, failed and the run's id on stdout. Raises RunError if any was
    not accepted."""
    from loader.cell_load import CellLoad
    from loader.dataset import stored_objects
    from loader.flood import check
    from loader.manifest import check_manifest
    from stampede.stacks import stack_lock
    from stampede.stacks import target as targets
    from stampede.tables import print_rows

    target = targets.resolve(arguments.target)
    in_order = order_of(target, arguments.order)
    cell = _cell(target, in_order, arguments.cell)
    objects = stored_objects(target)
    load = CellLoad.of(target, in_order, objects)
    count = (
        arguments.messages
        or load.count
        or cell.n * cell.batch_size * target.experiment.messages_per_concurrency
    )
    if target.experiment.shared_list is not None and count != load.count:
        takes = (
            f"the applied {target['experiment']} takes {counted(load.count, 'message')}, which "
            "share one list of keys"
        )
        raise UsageError(f"--messages: {takes}, got {count}; leave it out")
    payloads = payloads_of(target.experiment, arguments.payload, [cell])
    check_manifest(target)
    if arguments.run is not None:
        _refuse_run_of_another(
            target, RunFolder(arguments.results_dir / checked_run_id(arguments.run))
        )
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
    check(outcome)
    return 0


def _cell(target: Target, in_order: Mapping[str, Any], name: str | None) -> Cell:
    """The cell of a flood by hand, as the applied stack and the work orders have it."""
    axes = target.experiment.axes
    applied = [axis.variable for axis in axes if not (axis.is_variant or axis.in_order)]
    values = {
        variable: target.outputs[variable] for variable in RULES if variable in target.outputs
    }
    name = name or cell_name({variable: target[variable] for variable in applied} | in_order)
    return Cell(name, {**values, **in_order}, tuple(axes))


def _refuse_run_of_another(target: Target, folder: RunFolder) -> None:
    """Raise UsageError where the run that is added to was sent to another stack: drain could not
    account for both."""
    from stampede.stacks.place import is_of, refuse_another, stack_words

    folder.refuse_unwritable()
    stored = folder.read_json("run.json", {})
    refuse_another("--run", folder.run_id, stored, target.place)
    if stored.get("format", FORMAT) != FORMAT or not is_flood_by_hand(stored):
        other = (
            "is a sweep, which has its own cells, or of another version (format "
            f"{stored.get('format')})"
        )
        raise UsageError(f"--run: {folder.name} {other}", "leave --run out")
    if not is_of(target.outputs, stored):
        applied, other = stack_words(target.outputs, stored)
        another = f"--run: {folder.name} is a run of {other}, but the applied stack is {applied}"
        raise UsageError(another, "leave --run out")


def _refuse_beside_others(target: Target) -> None:
    """Raise UsageError while messages are in the queue or at work, of whatever run: the preparation
    would take from under them what they do."""
    from loader.collecting import message_counts
    from stampede.stacks.target import explained

    with explained("reading the queue", target):
        waiting = sum(message_counts(target.client("sqs"), target["queue_url"]))
    if waiting:
        messages = counted(
            waiting, "message of an earlier flood is", "messages of an earlier flood are"
        )
        raise UsageError(
            f"{target['experiment']}: {messages} in the queue or in progress, and this flood first "
            "empties the place that they copy to; wait for them with `stampede drain`"
        )


def _describe(
    folder: RunFolder,
    target: Target,
    cell: Cell,
    payloads: Payloads | None,
    objects: Sequence[DataObject],
) -> bool:
    """Write down what is going to be sent; returns whether the cell is new to the run. Raises
    UsageError where the run has sent other payloads: numbers of payloads in its records would mean
    both."""
    from stampede.runs.description import RunDescription

    if payloads is not None:
        if folder.read_json("run.json", {}) and Payloads.of_run(folder).text != payloads.text:
            raise UsageError(
                f"--payload: run {folder.run_id} sends another payload; leave it out, or start a "
                "new run"
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
    """Prepare the cell where it needs that, and send its messages, or have Athena run its queries.
    With what cuts it off it notes what goes on. Of a cell that isn't new, what an earlier flood
    sent last may not be written down."""
    from loader.cell_load import prepare
    from loader.executions import carry_out
    from loader.flood import flood

    common = {"order": load.order, "share": load.share}
    try:
        prepared = prepare(target, folder, cell, load, knows_all_sent=is_new)
        if load.execution is not None:
            return carry_out(target, folder, cell, count, load.execution, **common)
        return flood(
            target, folder, cell, count, **common, knows_all_sent=is_new or prepared is not None
        )
    except (KeyboardInterrupt, OSError) as error:
        sent = counted(sum(1 for _ in folder.rows("sent.jsonl")), "message")
        drain = f"`stampede drain --run {folder.as_argument}` waits for what is in the queue"
        error.add_note(f"run {folder.run_id} has sent {sent}; {drain}")
        raise


def _print_dry_run(
    target: Target, cell: str, load: CellLoad, count: int, payloads: Payloads | None
) -> None:
    from loader.flood import orders
    from stampede import terminal

    if load.preparation is not None:
        [preparing] = orders("RUN_ID", cell, 1, {**load.order, **load.preparation, "warm_up": 1})
        say(
            "would send one message that prepares the cell, and wait until it is done: "
            f"{preparing.body}"
        )
    if load.execution is not None:
        queries = counted(count, "query", "queries")
        say(f"would run {queries} in Athena's workgroup {load.execution.workgroup}, each of them:")
        terminal.hand_over(load.execution.sql)
        return
    say(f"would send {counted(count, 'message')} to {target['queue_name']}, such as:")
    [first] = orders("RUN_ID", cell, 1, load.order, share=load.share)
    takes_payload = target.experiment.takes_payload
    terminal.hand_over(
        (payloads or Payloads.of_text(DEFAULT)).bodies[0] if takes_payload else first.body
    )
