"""The golden runs: what `stampede report` and `stampede drain` make of a stored folder, as in expected.json.

As a program, `python -m tests.contract.golden`, it writes anew what every run is expected to give: for a run
that is added, never for code that counts otherwise.
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
COUNTS = ("count", "sent", "duplicates", "errors", "warm_ups", "warm_up_errors", "retried")
SECONDS = ("min_s", "p25_s", "median_s", "mean_s", "p75_s", "max_s")


def rebuilt(name: str, parent: Path) -> tuple[Path, dict]:
    """Unpack a run's inputs into a folder of `parent`, and answer from them alone."""
    with tarfile.open(GOLDEN / f"{name}.tar.gz") as archive:
        archive.extractall(parent, filter="data")
    folder = parent / name
    # With the account that was stored in it: 1 where the figures are in doubt.
    status, _ = stampede("report", str(folder))
    return folder, {"status": status, "account": account(folder), **counts_and_medians(folder)}


def counts_and_medians(folder: Path) -> dict:
    """What statistics.json says of the whole run and of each cell; its axes stand before its figures."""
    statistics = json.loads((folder / "statistics.json").read_text())
    cells = {}
    for cell in statistics["cells"]:
        axes = list(cell.items())[: list(cell).index("count")]
        figures = {name: cell[name] for name in COUNTS} | {"peak": (cell["overlap"] or {}).get("peak")}
        figures |= {name: cell["seconds"][name] for name in SECONDS}
        label = ", ".join(f"{name}={value}" for name, value in axes)
        cells[label] = {name: value for name, value in figures.items() if value is not None}
    return {"totals": statistics["totals"], "cells": cells}


def account(folder: Path) -> list[dict]:
    """The account of each cell, counted again from the other files: none is stored any more."""
    (folder / "accounting.json").write_text("[]")
    place = ("--target", "local", "--results-dir", str(folder.parent), "--run", folder.name)
    _, rows = stampede("drain", *place, "--format", "json")
    return json.loads(rows)


def stampede(*arguments: str) -> tuple[int, str]:
    """The exit status and stdout of a command."""
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()):
        return main(list(arguments)), out.getvalue()


def write_expected() -> None:
    for name in NAMES:
        with tempfile.TemporaryDirectory() as parent:
            folder, answer = rebuilt(name, Path(parent))
            (GOLDEN / name).mkdir(exist_ok=True)
            shutil.copy(folder / "cells.csv", GOLDEN / name)
            (GOLDEN / name / "expected.json").write_text(json.dumps(answer, indent=1) + "\n")


if __name__ == "__main__":
    write_expected()
