"""The golden runs: what `stampede report` and `stampede drain` make of a stored folder must match
expected.json.

`python -m tests.contract.golden` rewrites the expectations of all runs: after adding a run or a
column of cells.csv, never because code counts differently.
"""

import json
import shutil
import tarfile
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

from stampede.cli.command_line import main

GOLDEN = Path(__file__).parents[1] / "data" / "golden"
NAMES = sorted(path.name.removesuffix(".tar.gz") for path in GOLDEN.glob("*.tar.gz"))
COUNTS = ("sent", "duplicates", "errors", "warm_ups", "warm_up_errors", "retried")
SECONDS = ("min_s", "p25_s", "median_s", "mean_s", "p75_s", "max_s")


def unpack(name: str, parent: Path) -> Path:
    """Unpack a run's inputs into a folder of `parent`, and return that folder."""
    with tarfile.open(GOLDEN / f"{name}.tar.gz") as archive:
        # Python 3.11 has filters from 3.11.4 on; Debian 12 has 3.11.2.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(parent)
    return parent / name


def rebuilt(name: str, parent: Path) -> tuple[Path, dict]:
    """Unpack a run's inputs into a folder of `parent`; return the folder and what is computed from
    it."""
    folder = unpack(name, parent)
    # With the stored account: 1 if the figures are in doubt.
    status, _ = stampede("report", str(folder))
    # Without a stored account, messages are counted from the other files.
    (folder / "accounting.json").write_text("[]")
    place = ("--target", "local", "--results-dir", str(parent), "--run", name)
    _, account = stampede("drain", *place, "--format", "json")
    return folder, {"status": status, "account": json.loads(account), **counts_and_medians(folder)}


def counts_and_medians(folder: Path) -> dict:
    """What statistics.json says of the whole run and of each cell; a cell's axes precede its
    figures."""
    statistics = json.loads((folder / "statistics.json").read_text())
    cells = {}
    for cell in statistics["cells"]:
        axes = list(cell.items())[: list(cell).index("count")]
        figures = {name: (cell | cell["seconds"])[name] for name in (*SECONDS, *COUNTS)}
        figures |= {"count": cell["count"], "peak": (cell["overlap"] or {}).get("peak")}
        label = ", ".join(f"{name}={value}" for name, value in axes)
        cells[label] = {name: value for name, value in figures.items() if value is not None}
    return {"totals": statistics["totals"], "cells": cells}


def stampede(*arguments: str) -> tuple[int, str]:
    """The exit status and stdout of a command."""
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()):
        return main(list(arguments)), out.getvalue()


if __name__ == "__main__":
    for each in NAMES:
        with tempfile.TemporaryDirectory() as at:
            run, answer = rebuilt(each, Path(at))
            (GOLDEN / each).mkdir(exist_ok=True)
            shutil.copy(run / "cells.csv", GOLDEN / each)
            (GOLDEN / each / "expected.json").write_text(
                json.dumps(answer, indent=1, sort_keys=True) + "\n"
            )
