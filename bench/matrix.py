"""`python -m bench.matrix`: every way to download or copy beside every other client, in turn in one run.

Four tables: 1 GiB over HTTP, the same over HTTPS, 1,000 small objects, and copies on the server. It prints them as
Markdown and keeps them in results/bench-matrix.json.
"""

from __future__ import annotations

import importlib.util
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from bench import clients, copies, copy_clients, download, machine, programs, rounds, session, tools
from bench.download import Gateway, Side
from bench.errors import BenchError
from bench.matrix_table import Matrix, Row, keep, markdown
from bench.other_work import Watch, counts
from bench.small_set import LARGEST_BYTES, OBJECTS, SMALLEST_BYTES, small_set
from stampede.progress import say

OUTPUT = Path("results/bench-matrix.json")
GO_VARIANTS = [("stream", "discard"), ("stream", "tmp"), ("ranges", "memory"), ("ranges", "tmp")]
SECONDS_A_LARGE_ROUND, SECONDS_A_SMALL_ROUND, SECONDS_A_COPY_ROUND = 25, 13, 25


def large(runs: int, *, tls: bool) -> Matrix:
    """1 GiB with every method and client."""
    with download.gateway(tls=tls) as made:
        download.put_object(made)
        sides = {("download_file", "tmp"): download.ours(made, "download_file", "tmp")}
        sides |= {(f"Python {method}", sink): download.ours(made, method, sink) for method, sink in python_variants()}
        sides |= {(f"Go {method}", sink): clients.go(made, method, sink) for method, sink in GO_VARIANTS}
        others, notes = _there(made, [clients.s5cmd, clients.aws, clients.rclone])
        sides |= {(side.label, "tmp"): side for side in others}
        if tls:
            notes.append("The bare socket is left out because it doesn't support TLS.")
        else:
            sides["bare socket", "discard"] = _bare_socket(made)
        rounds.in_turn(list(sides.values()), runs, SECONDS_A_LARGE_ROUND)
    scheme = "https" if tls else "http"
    title = f"{download.OBJECT_MB} MiB over {scheme} from versitygw {tools.VERSITYGW.version}"
    return Matrix(scheme, title, runs, "download_file", _rows(sides), tuple(notes))


def small(runs: int) -> Matrix:
    """1,000 small objects with every client that can fetch many."""
    with download.gateway() as made:
        objects = small_set()
        objects.put(made)
        ours, boto = clients.go_many(made, objects), clients.download_file_many(made, objects)
        makers = [clients.s5cmd_many, clients.aws_many, clients.rclone_many]
        others, notes = _there(made, [lambda made, make=make: make(made, objects) for make in makers])
        sides = {(side.label, "tmp"): side for side in [boto, ours, *others]}
        rounds.in_turn(list(sides.values()), runs, SECONDS_A_SMALL_ROUND)
    sizes = f"{SMALLEST_BYTES // 1000} to {LARGEST_BYTES // 1000} KB"
    title = f"{OBJECTS:,} objects of {sizes} over http from versitygw {tools.VERSITYGW.version}"
    return Matrix("small", title, runs, boto.label, _rows(sides), tuple(notes))


def copied(runs: int) -> Matrix:
    """CopyObject with every client, told for 1,000 calls of each."""
    with download.gateway() as made:
        copy_clients.put_master(made)
        ours = copy_clients.ours(made, copies.CALLS, copies.PARALLEL_LIMIT)
        boto = copy_clients.boto3(made, copies.CALLS)
        makers = [(copy_clients.s5cmd, copies.CALLS), (copy_clients.aws, copies.CLI_CALLS)]
        others, notes = _there(made, [lambda made, make=make, calls=calls: make(made, calls) for make, calls in makers])
        sides = [boto, ours, *others]
        rounds.in_turn(sides, runs, SECONDS_A_COPY_ROUND)
    median = rounds.median
    rows = tuple(
        # CPU-ms a call are CPU-s for 1,000.
        Row(side.label, "bucket", 1000 / median(side, "calls_per_s"), median(side, "cpu_ms"), median(side, "peak_mb"))
        for side in sides
    )
    return Matrix("copy", f"1,000 calls, from {copies.setting()}", runs, boto.label, rows, tuple(notes))


TABLES: dict[str, Callable[[int], Matrix]] = {
    "http": lambda runs: large(runs, tls=False),
    "https": lambda runs: large(runs, tls=True),
    "small": small,
    "copy": copied,
}


def python_variants() -> list[tuple[str, str]]:
    """Every method of the Python function but the published one, to its default sink and to a file."""
    specification = importlib.util.spec_from_file_location(
        "download_methods", download.FUNCTIONS / "download" / "methods.py"
    )
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    variants = []
    for method, sinks in module.METHODS.items():
        if method != "download_file":
            variants += [(method, sink) for sink in dict.fromkeys([sinks[0], "tmp"]) if sink in sinks]
    return variants


def _there(made: Gateway, makers: Sequence[Callable[[Gateway], Side]]) -> tuple[list[Side], list[str]]:
    """The clients that this machine has, and a line about every other one."""
    sides, notes = [], []
    for make in makers:
        try:
            sides.append(make(made))
        except BenchError as error:
            notes.append(f"Left out: {error}.")
            say(f"left out: {error}", style="yellow")
    return sides, notes


def _bare_socket(made: Gateway) -> Side:
    parameters = {"Bucket": download.BUCKET, "Key": download.KEY}
    url = made.client().generate_presigned_url("get_object", parameters, ExpiresIn=3600)
    return download.peer(made, "bare_socket", url)


def _rows(sides: dict[tuple[str, str], Side]) -> tuple[Row, ...]:
    return tuple(
        Row(client, sink, *(rounds.median(side, figure) for figure in ("wall_s", "cpu_s", "peak_mb")))
        for (client, sink), side in sides.items()
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the chosen tables, print and keep them; returns the exit status."""
    chosen = session.parser("python -m bench.matrix", __doc__, TABLES, "table", OUTPUT).parse_args(arguments)
    names = list(dict.fromkeys(chosen.only)) or list(TABLES)
    return session.guarded(lambda: _measure(names, chosen.runs, chosen.output))


def _measure(names: Sequence[str], runs: int, output: Path) -> None:
    gives = machine.prologue()
    measured = []
    for name in names:
        watch = Watch()
        table = TABLES[name](runs)
        if not counts(share := watch.share()):
            note = f"The machine was too busy for this table to count: other work took {share:.0%} of it."
            table = replace(table, notes=(*table.notes, note))
        measured.append(table)
        keep(output, table)  # at once: what comes after may fail
    print("\n\n".join(markdown(table) for table in measured))
    print(f"\nmachine: {machine.describe()}\n{gives}")
    print("versions: " + ", ".join(f"{name} {version}" for name, version in programs.versions().items()))
    command = "python -m bench.matrix " + shlex.join([part for name in names for part in ("--only", name)])
    print(f"command: {command} --runs {runs}")
    say(f"results: {output}")


if __name__ == "__main__":
    sys.exit(main())
