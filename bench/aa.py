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
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

from bench.errors import BenchError
from bench.measure import Entry
from bench.process import output_of, stop
from stampede.emulator.process import end_with_parent
from stampede.progress import say
from stampede.report import answer, intervals
from stampede.report.analysis import Analysis, analyse
from stampede.report.intervals import CONFIDENCE, Estimate
from stampede.report.run import load
from stampede.tables import markdown

FOLDER = Path("results/aa")
DOCUMENTS = (Path("docs/benchmarks.md"), Path("docs/results.md"))
# Of five runs, as every entry has them, twenty sweeps.
SWEEPS_A_RUN = 4
LONGEST_SWEEP_S = 600
METHODS = ("download_file", "stream")
Lines = list[dict[str, Any]]


@dataclass(frozen=True)
class Kind:
    """Which experiment is swept, with which options, which comparison is of equals, and how a run is read as one that
    claims."""

    name: str
    options: str
    compare: str
    read_as: Callable[[dict[str, Any], Lines], None]


@dataclass(frozen=True)
class Judged:
    """What the page of a run of equals claims: how many intervals it has, and how many of them leave 1 out, each taken
    alone and as they hold together."""

    intervals: int
    alone_out: int
    out: int
    headline: str

    @property
    def claims(self) -> bool:
        """Whether anything is claimed at all."""
        return self.out > 0


def as_storage_classes(manifest: dict[str, Any], lines: Lines) -> None:
    """Take the stand-in for what it replaced: a run on AWS."""
    manifest["target"] = "aws"


def as_methods(manifest: dict[str, Any], lines: Lines) -> None:
    """Name the two repeats of each pair, one after the other as they ran, A and B by lot."""
    draw, named = random.Random(manifest["run_id"]), {}
    order = list(manifest["finished"])
    for repeat, pair in enumerate(zip(order[::2], order[1::2], strict=True), start=1):
        for cell, method in zip(pair, draw.sample(METHODS, 2), strict=True):
            name = re.sub(r"repeat=\d+", f"repeat={repeat}", f"method={method},{cell}")
            named[cell] = {"cell": name, "method": method, "repeat": repeat}
    for cell in manifest["cells"]:
        own = named[cell["cell"]]
        cell |= {"cell": own["cell"], "repeat": own["repeat"], "values": cell["values"] | {"method": own["method"]}}
    manifest["finished"] = {named[cell]["cell"]: times for cell, times in manifest["finished"].items()}
    for line in lines:
        method = {"method": named[line["cell"]]["method"]} if "method" in line else {}
        line |= {"cell": named[line["cell"]]["cell"]} | method


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
KINDS = (EXPRESS, DOWNLOAD)


def entry(kind: Kind, loaded: bool, runs: int) -> tuple[Entry, str]:
    """Sweep what is missing of so many runs, and count them all. Raises BenchError."""
    name, folder = name_of(kind, loaded), FOLDER / name_of(kind, loaded)
    wanted = SWEEPS_A_RUN * runs
    if len(finished(folder)) < wanted:
        _built()
        with _emulator() as environment:
            while (number := len(finished(folder)) + 1) <= wanted:
                say(f"{name}: sweep {number} of {wanted} (about 40 s; the first of an entry a minute more)")
                _sweep(kind, folder, number, loaded, environment)
    pages = [judged(kind, run) for run in finished(folder)]
    inside = 1 - sum(page.alone_out for page in pages) / sum(page.intervals for page in pages)
    ratio = inside / CONFIDENCE
    return Entry(name, inside, CONFIDENCE, "of intervals", ratio, len(pages)), sentence(pages)


def name_of(kind: Kind, loaded: bool) -> str:
    """That of the entry, and of its folder."""
    return f"aa_{kind.name}_load" if loaded else f"aa_{kind.name}"


ENTRIES = {name_of(kind, loaded): partial(entry, kind, loaded) for kind, loaded in product(KINDS, (False, True))}


def finished(folder: Path) -> list[Path]:
    """The runs there that came to their end, the oldest first."""
    return [
        path.parent for path in sorted(folder.glob("*/run.json")) if json.loads(path.read_text()).get("finished_at")
    ]


def judged(kind: Kind, run: Path) -> Judged:
    """What the page of this run claims, where it is one that claims anything."""
    with tempfile.TemporaryDirectory(prefix="stampede-bench-") as folder:
        copy = Path(folder) / run.name
        _read_again(kind, run, copy)
        analysis = analyse(load(copy))
        with patch.object(intervals, "confidence", lambda among: CONFIDENCE):
            alone = _ratios(kind, analyse(load(copy)))
        together = _ratios(kind, analysis)
        return Judged(
            intervals=len(together),
            alone_out=sum(ratio.leaves_1_out for ratio in alone),
            out=sum(ratio.leaves_1_out for ratio in together),
            headline=answer.say(analysis).headline,
        )


def sentence(pages: Sequence[Judged]) -> str:
    """What all of them claim."""
    intervals, alone_out = sum(page.intervals for page in pages), sum(page.alone_out for page in pages)
    claiming = [page.headline for page in pages if page.claims]
    headlines = f"; it says: {' / '.join(claiming[:3])}" if claiming else ""
    return (
        f"{alone_out} of {intervals} intervals leave 1 out, each taken alone, and {sum(page.out for page in pages)} as "
        f"they hold together; {len(claiming)} of {len(pages)} pages claim anything{headlines}"
    )


def table() -> str:
    """The rows of docs/, of what was swept."""
    heads = ("entry", "sweeps", "intervals", "leave 1 out, each alone", "as they hold together", "pages that claim")
    rows = []
    for kind, loaded in product(KINDS, (False, True)):
        pages = [judged(kind, run) for run in finished(FOLDER / name_of(kind, loaded))]
        if pages:
            intervals = sum(page.intervals for page in pages)
            outs = (sum(page.alone_out for page in pages), sum(page.out for page in pages))
            shares = [f"{out} ({100 * out / intervals:.1f} %)" for out in outs]
            claiming = sum(page.claims for page in pages)
            rows.append([f"`{name_of(kind, loaded)}`", str(len(pages)), str(intervals), *shares, str(claiming)])
    return "\n".join(markdown(heads, rows, texts=["entry"]))


def _ratios(kind: Kind, analysis: Analysis) -> list[Estimate]:
    ratios = [finding.ratio for finding in analysis.findings if finding.compare == kind.compare]
    measured = [ratio for ratio in ratios if ratio and ratio.has_interval]
    if not measured or len(measured) < len(ratios):
        run_id = analysis.run.run_id
        raise BenchError(f"{kind.compare}: {run_id} has a comparison without an interval; remove that run")
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


def _built() -> None:
    """Have the Go program that express runs; seconds where Go has built it before."""
    output_of(("make", "--no-print-directory", "go-function"), "`make go-function`", LONGEST_SWEEP_S)


@contextmanager
def _emulator() -> Iterator[dict[str, str]]:
    """The environment of sweeps that leave their stack to the next one; it goes when the block ends."""
    with tempfile.TemporaryDirectory(prefix="stampede-bench-") as state:
        environment = os.environ | {"STAMPEDE_STATE_DIR": state}
        try:
            yield environment
        finally:
            _stampede(("emulator", "stop"), environment)


def _sweep(kind: Kind, folder: Path, number: int, loaded: bool, environment: dict[str, str]) -> None:
    """One sweep on the stack of the one before, its report without what is drawn."""
    before = set(folder.glob("*"))
    with _load(number) if loaded else ExitStack():
        options = ("--keep", "--seed", str(number), "--results-dir", str(folder))
        _stampede(("sweep", kind.name, *kind.options.split(), *options), environment)
    for run in set(folder.glob("*")) - before:
        shutil.rmtree(run / "figures", ignore_errors=True)
        (run / "report.html").unlink(missing_ok=True)


@contextmanager
def _load(seed: int) -> Iterator[None]:
    """As many processes as there are processors, which come and go together."""
    command = [sys.executable, "-m", "bench.coming_load", str(seed)]
    with ExitStack() as started:
        for _ in range(os.cpu_count() or 1):
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=end_with_parent())
            started.callback(stop, process)
        yield


def _stampede(arguments: Sequence[str], environment: dict[str, str]) -> None:
    program = str(Path(sys.executable).parent / "stampede")
    output_of([program, *arguments], f"stampede {' '.join(arguments)}", LONGEST_SWEEP_S, environment)


def main() -> None:
    """Count the stored runs again, and write the table into docs/."""
    rows = table()
    print(rows)
    for path in DOCUMENTS:
        text = re.sub(r"(?s)(<!-- aa -->\n).*?(\n<!-- /aa -->)", rf"\g<1>{rows}\g<2>", path.read_text())
        path.write_text(text)


if __name__ == "__main__":
    main()
