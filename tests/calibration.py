"""`python -m tests.calibration`: every published figure beside the model's, into docs/model.md.

Each published row is a cell: the row's own coordinates, laid over the experiment's matrix for AWS, go the way of
`stampede simulate`, from the first message of the flood to its last record.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from statistics import mean, stdev

from experiments import EXPERIMENTS, Experiment
from stampede.experiment import Published
from stampede.model import function
from stampede.model.parameters import Parameters
from stampede.model.scenario import evaluate
from stampede.planning.demand import demands
from stampede.planning.plan import make_plan
from stampede.planning.predicting import parameters_of, scenario_of
from stampede.report.intervals import student_quantile
from stampede.report.published import PublishedCell, every_cell
from stampede.tables import markdown

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "model.md"
# Messages per N behind a published figure, where it isn't what the experiment sends.
MESSAGES = {"filesystem_large": 10, "filesystem_small": 10}
# Operations behind each of the model's averages: small floods are carried out several times, FLOODS at most.
OPERATIONS, FLOODS = 300, 30


@dataclass(frozen=True)
class Compared:
    """One published figure beside the model's, both in `unit`."""

    row: PublishedCell
    published: float
    model: float
    unit: str

    @property
    def difference(self) -> float:
        """The model's, relative to the published one."""
        return self.model / self.published - 1


@cache
def compared(name: str) -> list[tuple[Published, list[Compared]]]:
    """Every published table of the experiment `name`, which has a model, row by row."""
    experiment = EXPERIMENTS[name]
    rows = [_beside(experiment, row, parameters_of(experiment)) for row in every_cell(experiment)]
    return [(table, [row for row in rows if row.row.published is table]) for table in experiment.published]


def _beside(experiment: Experiment, row: PublishedCell, parameters: Parameters) -> Compared:
    seconds = average_s(experiment, row, parameters)
    if "avg_s" in row.figures:
        return Compared(row, row.figures["avg_s"], seconds, "s")
    speed, model = experiment.speed, replace(row, figures={"avg_s": seconds})
    return Compared(row, row.speed(speed) or 0.0, model.speed(speed) or 0.0, speed.unit)


def average_s(experiment: Experiment, row: PublishedCell, parameters: Parameters) -> float:
    """The model's mean seconds of an operation in a published cell: by a flood, but where what was published is one
    program's runs, one after the other."""
    each = MESSAGES.get(row.published.file, experiment.messages_per_concurrency)
    coordinates = [f"{axis.variable}={row.cell[axis.name]}" for axis in experiment.axes if axis.variable]
    plan = make_plan(experiment, "aws", coordinates, messages_per_concurrency=each)
    (demand,) = demands(plan)
    scenario = scenario_of(experiment, plan, demand)
    if row.published.work:
        work = row.published.work(demand.cell.values, parameters)
        return function.operation(work, scenario.memory_mb, parameters)[0].mean_s
    floods = min(FLOODS, -(-OPERATIONS // scenario.messages))
    work = scenario.work(parameters)
    scenario = replace(scenario, work=lambda _: work)
    courses = [evaluate(scenario, parameters, seed).course for seed in range(1, floods + 1)]
    cell = row.cell.figures()
    if row.published.file == "filesystem_large" and (cell["storage"], cell["read"]) == ("efs", "first"):
        return mean(course.of_first["avg_s"] for course in courses)  # reads that no page cache could answer
    return mean(course.avg_s for course in courses)


def document(text: str) -> str:
    """The page with its table made anew. Raises ValueError where it has no place for it."""
    tables = "\n".join(
        _table(experiment, published, rows)
        for name, experiment in EXPERIMENTS.items()
        if experiment.work
        for published, rows in compared(name)
    )
    place = r"(?s)(?<=<!-- published -->\n\n).*(?=\n<!-- end of published -->)"
    made, count = re.subn(place, lambda _: tables, text)
    if count != 1:
        raise ValueError(f"{DOCUMENT.name}: put <!-- published --> and <!-- end of published --> there, once")
    return made


def _table(experiment: Experiment, published: Published, rows: Sequence[Compared]) -> str:
    """One published table: the axes on which its rows differ, but for those that follow from others, both figures, and
    where the mean of its single runs lies, where those were published."""
    own = [axis for axis in experiment.axes if not callable(axis.default)]
    axes = [axis for axis in own if len({row.row.cell[axis.name] for row in rows}) > 1] or own[:1]
    heads = [f"{axis.label}, {axis.unit}" if axis.unit else axis.label for axis in axes]
    heads += [f"published, {rows[0].unit}", f"model, {rows[0].unit}", "difference"]
    if len(rows[0].row.runs_s) > 1:
        heads.append("95 % interval of its runs")
    lines = []
    for row in rows:
        figures = [_figure(row.published), _figure(row.model), f"{100 * row.difference:+.1f} %"]
        if len(row.row.runs_s) > 1:
            figures.append(_interval(row.row.runs_s))
        lines.append([*(str(row.row.cell[axis.name]) for axis in axes), *figures])
    fixed = [f"{axis.label} {published.fixed[axis.name]}" for axis in experiment.axes if axis.name in published.fixed]
    title = ", ".join([f"**{experiment.name}**", *fixed])
    caption = textwrap.fill(f"{title}: {published.setting}", width=118)
    return "\n".join([caption, "", *markdown(heads, lines), ""])


def _interval(runs_s: Sequence[float]) -> str:
    """Where the mean of all runs lies by these few, with 95 % confidence (Student's t)."""
    half = student_quantile(0.975, len(runs_s) - 1) * stdev(runs_s) / len(runs_s) ** 0.5
    return f"{_figure(mean(runs_s) - half)} to {_figure(mean(runs_s) + half)}"


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


if __name__ == "__main__":
    made = document(DOCUMENT.read_text(encoding="utf-8"))
    DOCUMENT.write_text(made, encoding="utf-8")
