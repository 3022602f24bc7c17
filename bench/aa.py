"""How often Stampede claims a difference where there is none: sweeps of two equal variants, on this machine.

`aa_express`: the two storage classes, which are both a general purpose bucket on the embedded AWS. `aa_download`: the
repeats of one cell, of which each pair is named method A and method B by lot. Of these a local page claims nothing, or
compares nothing; so each run is read again as one that does, with its classes taken for S3's, or its repeats for those
of two methods. Each is swept quietly and beside load that comes and goes. The runs stay in results/aa: what was
interrupted goes on, and

    python -m bench.aa

counts them again, without a sweep, and writes the table into docs/.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

from bench.errors import BenchError
from bench.pairs import Entry, Measured, Measurements
from bench.programs import output_of
from stampede.progress import say
from stampede.report import answer, intervals
from stampede.report.analysis import Analysis, analyse
from stampede.report.intervals import CONFIDENCE, Estimate
from stampede.report.run import load
from stampede.tables import markdown

FOLDER = Path("results/aa")
DOCUMENTS = (Path("docs/benchmarks.md"), Path("docs/results.md"))
SWEEPS_A_RUN = 4  # of five runs, as every entry has them, twenty sweeps
LONGEST_SWEEP_S = 600
SHORTEST_LOAD_S, LONGEST_LOAD_S = 1.0, 5.0
METHODS = ("download_file", "stream")
HEADS = ("entry", "sweeps", "intervals", "leave 1 out, each alone", "as they hold together", "pages that claim")
Lines = list[dict[str, Any]]


@dataclass(frozen=True)
class Kind:
    """Which experiment is swept, with which options, which comparison is of equals, and how a run is read as one that
    claims."""

    experiment: str
    options: str
    compare: str
    read_as: Callable[[dict[str, Any], Lines], None]


@dataclass(frozen=True)
class Claims:
    """What the page of a run of equals claims: how many intervals it has, and how many of them leave 1 out, each taken
    alone and as they hold together."""

    intervals: int
    alone_out: int
    out: int
    headline: str


def as_storage_classes(manifest: dict[str, Any], lines: Lines) -> None:
    """Take the stand-in for what it replaced: a run on AWS."""
    manifest["target"] = "aws"


def as_methods(manifest: dict[str, Any], lines: Lines) -> None:
    """Name the two repeats of each pair, one after the other as they ran, A and B by lot."""
    draw, renamed = random.Random(manifest["run_id"]), {}
    order = list(manifest["finished"])
    for repeat, pair in enumerate(zip(order[::2], order[1::2], strict=True), start=1):
        for cell, method in zip(pair, draw.sample(METHODS, 2), strict=True):
            name = re.sub(r"repeat=\d+", f"repeat={repeat}", f"method={method},{cell}")
            renamed[cell] = {"cell": name, "method": method, "repeat": repeat}
    for cell in manifest["cells"]:
        own = renamed[cell["cell"]]
        cell |= {"cell": own["cell"], "repeat": own["repeat"], "values": cell["values"] | {"method": own["method"]}}
    manifest["finished"] = {renamed[cell]["cell"]: times for cell, times in manifest["finished"].items()}
    for line in lines:
        method = {"method": renamed[line["cell"]]["method"]} if "method" in line else {}
        line |= {"cell": renamed[line["cell"]]["cell"]} | method


EXPRESS = Kind(
    "express",
    "--set operation=download --set object_bytes=1000,10000,100000,1000000 --set parallel_limit=1",
    "between_classes",
    as_storage_classes,
)
DOWNLOAD = Kind(
    "download",
    "--set memory_size=1024 --set concurrency_value=1 --set object_size_mb=16 --repeats 10",
    "between_methods",
    as_methods,
)
# The name of an entry, and of its folder, with its kind, and whether it is swept beside load.
ENTRIES = {
    f"aa_{kind.experiment}{'_load' * loaded}": (kind, loaded)
    for kind, loaded in product((EXPRESS, DOWNLOAD), (False, True))
}


def claimed(name: str, runs: int) -> Measured:
    """Sweep what is missing of so many runs, and count them all. Raises BenchError."""
    kind, loaded = ENTRIES[name]
    wanted = SWEEPS_A_RUN * runs
    if len(finished(FOLDER / name)) < wanted:
        _sweep_to(wanted, name, kind, loaded)
    pages = [claims(kind, run) for run in finished(FOLDER / name)]
    inside = 1 - sum(page.alone_out for page in pages) / sum(page.intervals for page in pages)
    entry = Entry(name, inside, CONFIDENCE, "of intervals", inside / CONFIDENCE, len(pages))
    counts = ", ".join(f"{head}: {text}" for head, text in zip(HEADS[1:], row(name, pages)[1:], strict=True))
    return [entry], "; ".join([counts, *(page.headline for page in pages if page.out)])


def finished(folder: Path) -> list[Path]:
    """The runs there that came to their end, the oldest first."""
    manifests = sorted(folder.glob("*/run.json"))
    return [path.parent for path in manifests if json.loads(path.read_text()).get("finished_at")]


def claims(kind: Kind, run: Path) -> Claims:
    """What the page of this run claims, where it is one that claims anything."""
    with tempfile.TemporaryDirectory(prefix="stampede-bench-") as folder:
        copy = Path(folder) / run.name
        _read_again(kind, run, copy)
        analysis = analyse(load(copy))
        with patch.object(intervals, "confidence", lambda among: CONFIDENCE):
            alone = _ratios(kind, analyse(load(copy)))
        together = _ratios(kind, analysis)
        alone_out, out = (sum(ratio.leaves_1_out for ratio in ratios) for ratios in (alone, together))
        return Claims(len(together), alone_out, out, answer.say(analysis).headline)


def row(name: str, pages: Sequence[Claims]) -> list[str]:
    """What all pages of an entry claim, as HEADS says it."""
    count = sum(page.intervals for page in pages)
    outs = (sum(page.alone_out for page in pages), sum(page.out for page in pages))
    shares = [f"{out} ({100 * out / count:.1f} %)" for out in outs]
    return [f"`{name}`", str(len(pages)), str(count), *shares, str(sum(page.out > 0 for page in pages))]


def _ratios(kind: Kind, analysis: Analysis) -> list[Estimate]:
    ratios = [finding.ratio for finding in analysis.findings if finding.compare == kind.compare]
    measured = [ratio for ratio in ratios if ratio and ratio.has_interval]
    if not measured or len(measured) < len(ratios):
        run_id = analysis.run.run_id
        raise BenchError(f"{kind.compare}: {run_id} has a comparison without an interval", "remove that run")
    return measured


def _read_again(kind: Kind, run: Path, copy: Path) -> None:
    """Write what a report needs of `run`, as a run that claims something."""
    copy.mkdir()
    manifest = json.loads((run / "run.json").read_text())
    files = {}
    for name in ("records.jsonl", "sent.jsonl"):
        files[name] = [json.loads(line) for line in (run / name).read_text().splitlines()]
    kind.read_as(manifest, files["records.jsonl"] + files["sent.jsonl"])
    (copy / "run.json").write_text(json.dumps(manifest))
    for name, lines in files.items():
        (copy / name).write_text("".join(json.dumps(line) + "\n" for line in lines))


def _sweep_to(wanted: int, name: str, kind: Kind, loaded: bool) -> None:
    """Sweep until so many runs are there, each on the stack of the one before; it goes at the end."""
    output_of(("make", "--no-print-directory", "go-function"), LONGEST_SWEEP_S)  # what express runs
    folder = FOLDER / name
    with tempfile.TemporaryDirectory(prefix="stampede-bench-") as state:
        try:
            while (number := len(finished(folder)) + 1) <= wanted:
                say(f"{name}: sweep {number} of {wanted} (about 40 s; the first of an entry a minute more)")
                _sweep(kind, folder, number, loaded, state)
        finally:
            _stampede(("emulator", "stop"), state)


def _sweep(kind: Kind, folder: Path, number: int, loaded: bool, state: str) -> None:
    """One sweep; its report goes, which is only drawn."""
    before = set(folder.glob("*"))
    options = (*kind.options.split(), "--keep", "--seed", str(number), "--results-dir", str(folder))
    with _load(number, os.cpu_count() or 1 if loaded else 0):
        _stampede(("sweep", kind.experiment, *options), state)
    for run in set(folder.glob("*")) - before:
        shutil.rmtree(run / "figures", ignore_errors=True)
        (run / "report.html").unlink(missing_ok=True)


@contextmanager
def _load(seed: int, count: int) -> Iterator[None]:
    """So many processes, which come and go together."""
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=come_and_go, args=(seed, os.getpid()), daemon=True) for _ in range(count)]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.terminate()
            process.join()


def come_and_go(seed: int, parent: int) -> None:
    """Be busy for one to five seconds, then idle for as long, while the parent lives."""
    draw = random.Random(seed)
    while os.getppid() == parent:
        until_s = time.monotonic() + draw.uniform(SHORTEST_LOAD_S, LONGEST_LOAD_S)
        while time.monotonic() < until_s:
            pass
        time.sleep(draw.uniform(SHORTEST_LOAD_S, LONGEST_LOAD_S))


def _stampede(arguments: Sequence[str], state: str) -> None:
    program = str(Path(sys.executable).parent / "stampede")
    output_of([program, *arguments], LONGEST_SWEEP_S, STAMPEDE_STATE_DIR=state)


def main() -> None:
    """Count the stored runs again, and write the table into docs/."""
    rows = []
    for name, (kind, _) in ENTRIES.items():
        if pages := [claims(kind, run) for run in finished(FOLDER / name)]:
            rows.append(row(name, pages))
    table = "\n".join(markdown(HEADS, rows, texts=["entry"]))
    print(table)
    for path in DOCUMENTS:
        path.write_text(re.sub(r"(?s)(<!-- aa -->\n).*?(\n<!-- /aa -->)", rf"\g<1>{table}\g<2>", path.read_text()))


MEASUREMENTS: Measurements = {(name,): partial(claimed, name) for name in ENTRIES}

if __name__ == "__main__":
    main()
