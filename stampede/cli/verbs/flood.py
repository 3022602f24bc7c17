"""`stampede flood`: sends the messages of one cell to the queue, so that N functions run at once.

Where the messages share a list of keys, there are as many as shares, and one goes before them, is waited for, and
prepares the place that is copied to. Where they are queries, Athena carries them out, one after the other.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from loader.cell_load import CellLoad, prepare
from loader.collecting import message_counts
from loader.dataset import stored_objects
from loader.executions import carry_out
from loader.flood import MOST_UNRECORDED, check, flood, orders, payload_messages
from loader.manifest import check_manifest
from loader.payloads import DEFAULT, Payloads
from loader.seeding import events_of
from loader.sqs.message import ATTRIBUTE
from loader.sqs.outcome import Outcome
from stampede import terminal
from stampede.cell import FORMAT, Cell
from stampede.cli.verbs.order_option import order_of
from stampede.cli.verbs.payload_option import payloads_of, refuse_others
from stampede.errors import UsageError
from stampede.phrases import counted
from stampede.planning.settings import cell_name
from stampede.progress import say
from stampede.runs.description import RunDescription
from stampede.runs.folder import RunFolder, checked_run_id, is_flood_by_hand
from stampede.stacks import target as targets
from stampede.stacks.infra_variables import declared
from stampede.stacks.place import is_of, refuse_another, stack_words
from stampede.stacks.stack_lock import holding
from stampede.stacks.target import Target
from stampede.tables import print_rows


def run(arguments: argparse.Namespace) -> int:
    """Send the messages; prints sent, failed and the run's id on stdout. Raises RunError if any was not accepted."""
    target = targets.resolve(arguments)
    in_order = order_of(target, arguments.order)
    described = _cell(target, in_order, arguments.cell)
    cell = described.name
    load = CellLoad.of(target, in_order, stored_objects(target))
    count = _count(arguments, target, load)
    payloads = payloads_of(target.experiment, arguments.payload)
    check_manifest(target)
    if events_of(target, in_order):
        options = "".join(f" --order {setting}" for setting in arguments.order)
        say(f"this needs the objects that `stampede dataset{options}` uploads; run it once for each stack")
    if arguments.run is not None:
        _refuse_run_of_another(target, RunFolder(arguments.results_dir / checked_run_id(arguments.run)))
    if arguments.dry_run:
        _print_dry_run(target, cell, load, count, payloads)
        return 0
    queue_url = _queue_url(target, arguments.queue_name)
    with holding(target.option, "flood", arguments.run or "") as note_run:
        if load.preparation is not None:
            _refuse_beside_others(target)
        folder = RunFolder.create(arguments.results_dir, arguments.run)
        note_run(folder.run_id)
        try:
            if payloads is not None:
                refuse_others(folder, payloads)
                payloads.store(folder)
            description = RunDescription(folder, target["experiment"], target.place)
            # What an earlier flood of the cell sent last may not be written down.
            knows_all_sent = cell not in description.cells
            description.add_cell(described, target)
        except BaseException:
            folder.remove_if_empty()
            raise
        try:
            outcome = _send(target, folder, cell, load, count, queue_url, knows_all_sent)
        except (KeyboardInterrupt, OSError) as error:
            error.add_note(_what_goes_on(folder, load, is_recorded=isinstance(error, KeyboardInterrupt)))
            raise
    print_rows([{"run_id": folder.run_id, "cell": cell} | outcome.as_dict()], arguments.format)
    check(outcome)
    return 0


def _send(
    target: Target,
    folder: RunFolder,
    cell: str,
    load: CellLoad,
    count: int,
    queue_url: str,
    knows_all_sent: bool,
) -> Outcome:
    """Prepare the cell where it needs that, and send its messages, or have Athena run its queries."""
    prepared = prepare(target, folder, cell, load, knows_all_sent=knows_all_sent)
    if load.execution is not None:
        return carry_out(target, folder, cell, count, load.execution, order=load.order, share=load.share)
    return flood(
        target,
        folder,
        cell,
        count,
        order=load.order,
        share=load.share,
        queue_url=queue_url,
        knows_all_sent=knows_all_sent or prepared is not None,
    )


def _what_goes_on(folder: RunFolder, load: CellLoad, *, is_recorded: bool) -> str:
    """What becomes of a flood that was cut off, and how to resume. Of one that could write no more, not everything that
    SQS accepted `is_recorded`."""
    sent = sum(1 for _ in folder.rows("sent.jsonl"))
    if load.execution is None and not is_recorded:
        drain = f"; `stampede drain --run {folder.as_argument}` waits for those recorded" if sent else ""
        return (
            f"run {folder.run_id} has recorded {counted(sent, 'message')}, and up to {MOST_UNRECORDED:,} more may be "
            f"in the queue{drain}"
        )
    if not sent:
        return f"run {folder.run_id} has sent nothing"
    if load.execution is not None:
        return (
            f"run {folder.run_id} has run {counted(sent, 'query', 'queries')}; "
            f"`stampede drain --run {folder.as_argument}` accounts for them"
        )
    return (
        f"the {counted(sent, 'message')} sent by run {folder.run_id} {'is' if sent == 1 else 'are'} still being "
        "processed; "
        f"`stampede drain --run {folder.as_argument}` waits for them"
    )


def _count(arguments: argparse.Namespace, target: Target, load: CellLoad) -> int:
    """How many messages to send. Raises UsageError where the options don't fit what the messages share."""
    shares = load.count if target.experiment.shared_list is not None else None
    if shares is not None and arguments.messages not in (None, shares):
        raise UsageError(
            f"--messages: the applied {target['experiment']} takes {counted(shares, 'message')}, which share one "
            f"list of keys, got {arguments.messages}; leave it out"
        )
    if load.preparation is not None and arguments.queue_name is not None:
        raise UsageError(
            f"--queue-name: a message on the stack's own queue prepares {target['experiment']} first; leave it out"
        )
    if load.execution is not None and arguments.queue_name is not None:
        raise UsageError("--queue-name: Athena runs the queries, and nothing is sent to a queue; leave it out")
    usual = target["concurrency_value"] * target.experiment.messages_per_concurrency
    return arguments.messages or load.count or usual


def _refuse_run_of_another(target: Target, folder: RunFolder) -> None:
    """Raise UsageError where the run that is added to was sent to another stack: drain could not account for both."""
    folder.refuse_unwritable()
    stored = folder.read_json("run.json", {})
    refuse_another("--run", folder.run_id, stored, target.place)
    if stored.get("format", FORMAT) != FORMAT:
        raise UsageError(f"--run: {folder.name} has format {stored['format']}, not {FORMAT}; leave --run out")
    if not is_flood_by_hand(stored):
        raise UsageError(f"--run: {folder.name} is a sweep, which has its own cells; leave --run out")
    if not is_of(target.outputs, stored):
        applied, other = stack_words(target.outputs, stored)
        raise UsageError(
            f"--run: {folder.name} is a run of {other}, but the applied stack is {applied}; leave --run out, or give "
            f"a run of {applied}"
        )


def _refuse_beside_others(target: Target) -> None:
    """Raise UsageError while messages are in the queue or at work, of whatever run: the preparation would take from
    under them what they do."""
    with targets.explained("reading the queue", target):
        there = sum(message_counts(target.client("sqs"), target["queue_url"]))
    if there:
        messages = counted(there, "message of an earlier flood is", "messages of an earlier flood are")
        raise UsageError(
            f"{target['experiment']}: {messages} in the queue or in progress, and this flood first empties the place "
            "that they copy to; wait for them with `stampede drain`"
        )


def _print_dry_run(target: Target, cell: str, load: CellLoad, count: int, payloads: Payloads | None) -> None:
    if load.execution is not None:
        queries = counted(count, "query", "queries")
        say(f"would run {queries} in Athena's workgroup {load.execution.workgroup}, each of them:")
        terminal.hand_over(load.execution.sql)
        return
    if load.preparation is not None:
        [preparing] = orders("RUN_ID", cell, 1, {**load.order, **load.preparation, "warm_up": 1})
        say(f"would send one message that prepares the cell, and wait until it is done: {preparing.body}")
    say(f"would send {counted(count, 'message')} to {target['queue_name']}; the first one:")
    if target.experiment.takes_payload:
        extras = {**load.order, "warm_up": 0}
        first = next(payload_messages(payloads or Payloads.of_text(DEFAULT), "RUN_ID", cell, count, extras))
        say(f"its message attribute {ATTRIBUTE}: {first.attribute}")
        terminal.hand_over(first.body)
        return
    print(next(orders("RUN_ID", cell, 1, load.order, share=load.share)).body)


def _queue_url(target: Target, queue_name: str | None) -> str:
    if queue_name is None:
        return target["queue_url"]
    sqs = target.client("sqs")
    with targets.explained(f"--queue-name {queue_name!r}", target):
        try:
            return sqs.get_queue_url(QueueName=queue_name)["QueueUrl"]
        except sqs.exceptions.QueueDoesNotExist:
            raise UsageError(f"--queue-name {queue_name!r}: there is no such queue in {target.region}") from None


def _cell(target: Target, in_order: Mapping[str, Any], name: str | None) -> Cell:
    """The cell of a flood by hand, as the applied stack and the work orders have it."""
    axes = target.experiment.axes
    applied = [axis.variable for axis in axes if not (axis.is_variant or axis.in_order)]
    values = {variable: target.outputs[variable] for variable in declared() if variable in target.outputs}
    return Cell(
        name=name or cell_name({variable: target[variable] for variable in applied} | in_order),
        values={**values, **in_order},
        axes=tuple(axes),
    )
