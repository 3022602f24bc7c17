"""`python -m tests.calibration`: every published figure beside the model's, into docs/simulate.md.

The peer is what was published. Each of its rows is a cell: the row's own coordinates, laid over the
experiment's matrix for AWS, go the way of `stampede simulate`, from the first message of the flood
to its last record.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from statistics import mean

from experiments import EXPERIMENTS, Experiment
from stampede.axes import Axis
from stampede.cell import Cell
from stampede.experiment import Published
from stampede.model import function
from stampede.model.parameters import Parameters
from stampede.model.scenario import evaluate
from stampede.planning.demand import demands
from stampede.planning.plan import make_plan
from stampede.planning.predicting import parameters_of, scenario_of
from stampede.report.published import PublishedCell, every_cell
from stampede.tables import markdown

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "simulate.md"
# Messages per N behind a published figure, where it isn't what the experiment sends.
MESSAGES = {"filesystem_large": 10, "filesystem_small": 10}
# Operations behind each of the model's averages: small floods are carried out several times, FLOODS
# at most.
OPERATIONS, FLOODS = 300, 30
HEADS = ("experiment", "cell", "published", "model", "difference")


@dataclass(frozen=True)
class Compared:
    """One published figure beside the model's, both in `unit`."""

    cell: Cell
    published: float
    model: float
    unit: str

    @property
    def difference(self) -> float:
        """The model's, relative to the published one."""
        return self.model / self.published - 1

    def label(self, axes: Sequence[Axis]) -> str:
        """Where it is on these axes."""
        texts = (f"{axis.label} {self.cell[axis.name]} {axis.unit}".rstrip() for axis in axes)
        return ", ".join(texts)

    def figures(self) -> tuple[str, str, str]:
        """Both figures and their difference, as the table has them."""
        texts = (
            f"{value:,.0f}" if value >= 100 else f"{value:.2f}"
            for value in (self.published, self.model)
        )
        published, model = texts
        return f"{published} {self.unit}", f"{model} {self.unit}", f"{100 * self.difference:+.1f} %"


@cache
def compared(name: str) -> list[tuple[Published, list[Compared]]]:
    """Every published table of the experiment `name`, which has a model, row by row."""
    experiment = EXPERIMENTS[name]
    parameters = parameters_of(experiment)
    cells = every_cell(experiment)
    return [
        (
            published,
            [
                _beside(experiment, cell, parameters)
                for cell in cells
                if cell.published is published
            ],
        )
        for published in experiment.published
    ]


def _beside(experiment: Experiment, row: PublishedCell, parameters: Parameters) -> Compared:
    seconds = average_s(experiment, row, parameters)
    if "avg_s" in row.figures:
        return Compared(row.cell, row.figures["avg_s"], seconds, "s")
    speed = experiment.speed
    model = replace(row, figures={"avg_s": seconds})
    return Compared(row.cell, row.speed(speed) or 0.0, model.speed(speed) or 0.0, speed.unit)


def average_s(experiment: Experiment, row: PublishedCell, parameters: Parameters) -> float:
    """The model's mean seconds of an operation in a published cell: by a flood, but where what was
    published is one program's runs, one after the other."""
    each = MESSAGES.get(row.published.file, experiment.messages_per_concurrency)
    coordinates = [
        f"{axis.variable}={row.cell[axis.name]}" for axis in experiment.axes if axis.variable
    ]
    plan = make_plan(experiment, "aws", coordinates, messages_per_concurrency=each)
    (demand,) = demands(plan)
    scenario = scenario_of(experiment, plan, demand)
    if row.published.work:
        work = row.published.work(demand.cell.values, parameters)
        return function.operation(work, scenario.memory_mb, parameters)[0].mean_s
    floods = min(FLOODS, -(-OPERATIONS // scenario.messages))
    work = scenario.work(parameters)
    scenario = replace(scenario, work=lambda _: work)
    courses = (evaluate(scenario, parameters, seed).course for seed in range(1, floods + 1))
    return mean(
        course.of_first["avg_s"] if _is_first_read(row) else course.avg_s for course in courses
    )


def _is_first_read(row: PublishedCell) -> bool:
    """Whether a row counts only reads that no page cache could answer: the first of each
    environment."""
    cell = row.cell.figures()
    return row.published.file == "filesystem_large" and (cell["storage"], cell["read"]) == (
        "efs",
        "first",
    )


def document(text: str) -> str:
    """The page with its table made anew. Raises ValueError where it has no place for it."""
    begin, end = "<!-- published -->\n", "<!-- end of published -->"
    before, opened, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not opened or not closed:
        raise ValueError(
            f"{DOCUMENT.name} has no place for the table: put {begin.strip()} and {end} there"
        )
    return f"{before}{begin}\n{_table()}\n\n{end}{after}"


def _table() -> str:
    """A row for each published figure: the axes on which those of its table differ, and both
    figures."""
    lines = []
    for name, experiment in EXPERIMENTS.items():
        for published, rows in compared(name) if experiment.work else ():
            own = [axis for axis in experiment.axes if not callable(axis.default)]
            varying = [axis for axis in own if len({row.cell[axis.name] for row in rows}) > 1]
            fixed = [axis for axis in experiment.axes if axis.name in published.fixed]
            axes = [*fixed, *varying] or own[:1]
            lines += [[name, row.label(axes), *row.figures()] for row in rows]
    return "\n".join(markdown(HEADS, lines, texts=HEADS[:2]))


if __name__ == "__main__":
    made = document(DOCUMENT.read_text(encoding="utf-8"))
    DOCUMENT.write_text(made, encoding="utf-8")
    print(f"written: {DOCUMENT.name}", file=sys.stderr)
