"""`python -m tests.drawn [RUN ...]` updates the tables of runs and the model in README and docs/.

There are tables of measured runs, of sweeps with their defaults, kept in docs/measured.json (`make
measured FOLDERS="results/A results/B"`); outputs of `stampede simulate`; and the published figures
next to the model's, for which each published row is a cell that the model floods from the first
message to the last record.
"""

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from datetime import datetime
from functools import cache
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from experiments import EXPERIMENTS, Experiment
from experiments.parameters import known_parameters
from stampede.cell import Cell
from stampede.cli.command_line import main as stampede
from stampede.errors import UsageError
from stampede.experiment import Published
from stampede.model import function
from stampede.model.scenario import evaluate
from stampede.planning.demand import demands
from stampede.planning.plan import make_plan
from stampede.planning.predicting import question_of
from stampede.report.published import PublishedCell, every_cell
from stampede.runs.folder import RunFolder
from stampede.tables import markdown
from tests.commands import DOCUMENTS, ROOT

MEASURED = ROOT / "docs" / "measured.json"
# A block after `table: EXPERIMENT PATTERN` has the measured rows that match the regular expression,
# each with its published row; a block after `simulate: ARGUMENTS` has a prediction.
BLOCK = re.compile(r"(?ms)^(<!-- (table|simulate): (\S+) ?(.*?) -->\n```\n).*?^```$")
PUBLISHED = re.compile(r"(?s)(<!-- published -->\n\n).*?(\n\n<!-- end of published -->)")
# Messages per N of a published figure, if they differ from the experiment's.
MESSAGES = {"filesystem_large": 10, "filesystem_small": 10}
# Operations for each of the model's averages: small floods are repeated, at most FLOODS times.
OPERATIONS, FLOODS = 300, 30
HEADS = ("experiment", "cell", "published", "model", "difference")


def drawn(text: str) -> str:
    """A page with its blocks updated."""

    def block(match: re.Match[str]) -> str:
        opening, kind, experiment, rest = match.groups()
        if kind == "simulate":
            return f"{opening}{prediction(experiment, *rest.split())}```"
        return f"{opening}{excerpt(measured()[experiment]['table'], rest)}```"

    text = BLOCK.sub(block, text)
    return PUBLISHED.sub(lambda ends: f"{ends[1]}{published_table()}{ends[2]}", text)


def measured() -> dict[str, dict]:
    """The stored time and table of a run, by experiment."""
    return json.loads(MEASURED.read_text())


def excerpt(table: list[str], pattern: str) -> str:
    """The head of `table` and its rows that match `pattern`."""
    rule = next(number for number, line in enumerate(table) if line.startswith("─"))
    shown, chosen = table[: rule + 1], False
    for line in table[rule + 1 :]:
        if "this machine" in line:
            chosen = bool(re.search(pattern, line))
        if chosen:
            shown.append(line)
    return "\n".join(shown).rstrip() + "\n"


def prediction(*arguments: str) -> str:
    """The output of `stampede simulate` up to the end of its table."""
    os.environ["COLUMNS"] = "200"
    with redirect_stdout(io.StringIO()) as printed, redirect_stderr(printed):
        stampede(["simulate", *arguments])
    lines = [line.rstrip() for line in printed.getvalue().splitlines()]
    return "\n\n".join("\n".join(lines).split("\n\n")[:2]) + "\n"


def store(folders: list[Path]) -> None:
    """Store the time and the table of each run."""
    stored = measured()
    for folder in folders:
        run = json.loads((folder / "run.json").read_text())
        started, ended = (datetime.fromisoformat(run[key]) for key in ("started_at", "finished_at"))
        report = _output(str(Path(sys.executable).parent / "stampede"), "report", str(folder))
        table, _, _ = report.partition("\n\n")
        stored[run["experiment"]] = {
            "run_id": run["run_id"],
            "machine": run["machine"],
            "commit": _output("git", "rev-parse", "--short", "HEAD").strip(),
            "took_s": round((ended - started).total_seconds()),
            "table": [line.rstrip() for line in table.splitlines()],
        }
    MEASURED.write_text(json.dumps(stored, ensure_ascii=False, indent=1) + "\n")


def _output(*command: str) -> str:
    environment = os.environ | {"COLUMNS": "200"}
    return subprocess.check_output(command, cwd=ROOT, env=environment, text=True)


def run_folders(arguments: list[str]) -> list[Path]:
    """The folders of finished runs; exits with a line of error for any other."""
    folders = [Path(argument).resolve() for argument in arguments]
    for folder in folders:
        try:
            run = RunFolder(folder).read_json("run.json", {}) if folder.is_dir() else {}
        except UsageError as error:
            sys.exit(f"FOLDERS: {error}")
        if not run.get("finished_at"):
            sys.exit(f"FOLDERS: {folder} isn't the folder of a finished run, as in results/")
    return folders


class Compared(NamedTuple):
    """A published figure and the model's, both in `unit`."""

    cell: Cell
    published: float
    model: float
    unit: str

    @property
    def difference(self) -> float:
        """The model's difference, relative to the published figure."""
        return self.model / self.published - 1


@cache
def compared(name: str) -> list[tuple[Published, list[Compared]]]:
    """The published tables of the experiment `name`, with the model's figures by row."""
    experiment = EXPERIMENTS[name]
    rows = [(cell.published, _beside(experiment, cell)) for cell in every_cell(experiment)]
    return [
        (published, [row for of, row in rows if of is published])
        for published in experiment.published
    ]


def _beside(experiment: Experiment, row: PublishedCell) -> Compared:
    seconds = average_s(experiment, row)
    if "avg_s" in row.figures:
        return Compared(row.cell, row.figures["avg_s"], seconds, "s")
    speed = experiment.speed
    model = replace(row, figures={"avg_s": seconds})
    return Compared(row.cell, row.speed(speed) or 0.0, model.speed(speed) or 0.0, speed.unit)


def average_s(experiment: Experiment, row: PublishedCell) -> float:
    """The model's mean seconds of an operation in a published cell, from a flood, or alone if one
    program's successive runs were published."""
    parameters = known_parameters(experiment.name)
    each = MESSAGES.get(row.published.file, experiment.messages_per_concurrency)
    coordinates = [
        f"{axis.variable}={row.cell[axis.name]}" for axis in experiment.axes if axis.variable
    ]
    plan = make_plan(experiment, "aws", coordinates, messages_per_concurrency=each)
    (demand,) = demands(plan)
    scenario = question_of(plan, demand, parameters).scenario
    if row.published.work:
        work = row.published.work(demand.cell.values, parameters)
        return function.operation(work, scenario.memory_mb, parameters)[0].mean_s
    floods = min(FLOODS, -(-OPERATIONS // scenario.messages))
    work = scenario.work(parameters)
    scenario = replace(scenario, work=lambda _: work)
    courses = (evaluate(scenario, parameters, seed).course for seed in range(1, floods + 1))
    # Counted are only reads that no page cache could answer: the first of each environment.
    cell = row.cell.figures()
    of_first = row.published.file == "filesystem_large" and (
        (cell["storage"], cell["read"]) == ("efs", "first")
    )
    return mean(course.of_first["avg_s"] if of_first else course.avg_s for course in courses)


def published_table() -> str:
    """A row for each published figure: the axes that vary in its table, and both figures."""
    return "\n".join(markdown(HEADS, [*_published_rows()], texts=HEADS[:2]))


def _published_rows() -> Iterator[list[str]]:
    for name, experiment in EXPERIMENTS.items():
        for published, rows in compared(name) if experiment.work else ():
            own = [axis for axis in experiment.axes if not callable(axis.default)]
            varying = [axis for axis in own if len({row.cell[axis.name] for row in rows}) > 1]
            fixed = [axis for axis in experiment.axes if axis.name in published.fixed]
            for row in rows:
                where = (
                    f"{axis.label} {row.cell[axis.name]} {axis.unit}".rstrip()
                    for axis in [*fixed, *varying] or own[:1]
                )
                figures = (
                    f"{value:,.0f} {row.unit}" if value >= 100 else f"{value:.2f} {row.unit}"
                    for value in (row.published, row.model)
                )
                yield [name, ", ".join(where), *figures, f"{100 * row.difference:+.1f} %"]


if __name__ == "__main__":
    if sys.argv[1:]:
        store(run_folders(sys.argv[1:]))
    for document in DOCUMENTS:
        document.write_text(drawn(document.read_text()))
