"""`python -m bench.flood_memory`: the loader's peak memory for 10,000, 100,000 and 1,000,000 messages into ElasticMQ.

Each flood is a process of its own, as `stampede flood` is. Another process then takes the account of the run: it reads
sent.jsonl and a record for each message.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bench import machine, servers, session
from bench.child import run_child
from bench.errors import BenchError
from bench.flood import CELL, EXTRAS, Queue, made_queue, run_folder
from loader.flood import flood
from stampede.cli.arguments import positive_int
from stampede.progress import say
from stampede.runs.account import stored_accounts
from stampede.runs.folder import RunFolder
from stampede.stacks.target import Target
from stampede.tables import print_rows

COUNTS = (10_000, 100_000, 1_000_000)
HEAP_MB = 4096  # ElasticMQ keeps all messages


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the table; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.flood_memory", description=__doc__, allow_abbrev=False)
    parser.add_argument(
        "--messages",
        metavar="N",
        type=positive_int,
        action="append",
        help=f"measure this number of messages; may be repeated (default: {', '.join(map(str, COUNTS))})",
    )
    chosen = parser.parse_args(arguments)
    return session.guarded(lambda: _measure(chosen.messages or COUNTS))


def flood_once(url: str, queue_url: str, folder: str, count: int) -> None:
    """What the first process does: the flood of `stampede flood`, without looking for the object at S3."""
    outputs = {"experiment": "download", "region": servers.REGION, "queue_name": "bench", "queue_url": queue_url}
    target = Target("local", outputs, url)
    outcome = flood(target, RunFolder(Path(folder)), CELL, count, order=EXTRAS)
    if outcome.sent != count or outcome.possible_duplicates:
        raise BenchError(f"this flood is not clean: {outcome.sentence()}")


def account_once(folder: str, count: int) -> None:
    """What the second process does: set what was sent against the records."""
    [one] = stored_accounts(RunFolder(Path(folder)))
    if (one.sent, one.succeeded, one.unaccounted, one.duplicates) != (count, count, 0, 0):
        raise BenchError(one.sentence())


def _measure(counts: Sequence[int]) -> None:
    rows = []
    with servers.elasticmq(HEAP_MB) as url:
        queue = made_queue(url)
        for count in counts:
            say(f"flooding {count:,} messages")
            rows.append(_row(url, queue, count))
    print_rows(rows, "table")
    print(f"machine: {machine.describe()}")


def _row(url: str, queue: Queue, count: int) -> dict[str, str]:
    with run_folder() as folder:
        flooded = _child("flood_once", url, queue.url, str(folder.path), count)
        arrived = queue.count()
        queue.empty()
        lines = _write_records(folder)
        if not lines == arrived == count:
            raise BenchError(f"{arrived} of {count} messages are in the queue and {lines} lines in sent.jsonl")
        accounted = _child("account_once", str(folder.path), count)
    figures = {
        "flood s": flooded["wall_s"],
        "messages/s": count / flooded["wall_s"],
        "flood MiB": flooded["peak_mb"],
        "account s": accounted["wall_s"],
        "account MiB": accounted["peak_mb"],
    }
    texts = {name: f"{value:,.1f}" for name, value in figures.items()}
    return {"messages": f"{count:,}", **texts, "lines": f"{lines:,}"}


def _write_records(folder: RunFolder) -> int:
    """A record for each message sent; returns how many."""
    lines = 0
    with (folder.path / "records.jsonl").open("w") as file:
        for row in folder.rows("sent.jsonl"):
            file.write(f'{{"cell": "{CELL}", "seq": {row["seq"]}, "status": "ok"}}\n')
            lines += 1
    return lines


def _child(function: str, *arguments: str | int) -> dict[str, float]:
    """Call a function of this file in a process of its own (folders by their paths)."""
    call = f"flood_memory.{function}({', '.join(map(repr, arguments))})"
    return run_child([sys.executable, "-c", f"from bench import flood_memory; {call}"])


if __name__ == "__main__":
    sys.exit(main())
