"""`python -m bench.calibration`: every published figure beside the model's, and the parameters, into docs/model.md.

The peer is what was published. Each of its rows is a cell: the row's own coordinates, laid over the experiment's matrix
for AWS, go the way of `stampede simulate`, from the first message of the flood to its last record.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from statistics import mean, stdev

from experiments import EXPERIMENTS, Experiment
from experiments.parameters import files
from stampede.cell import Cell
from stampede.experiment import Published
from stampede.model import function
from stampede.model import parameters as known
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
    """One published figure beside the model's, both in `unit`. `of_runs` is the 95 % interval of the mean of its single
    runs, where those were published."""

    cell: Cell
    published: float
    model: float
    unit: str
    of_runs: tuple[float, float] | None = None

    @property
    def difference(self) -> float:
        """The model's, relative to the published one."""
        return self.model / self.published - 1


@cache
def compared(name: str) -> list[tuple[Published, list[Compared]]]:
    """Every published table of the experiment `name`, which has a model, row by row."""
    experiment = EXPERIMENTS[name]
    parameters = parameters_of(experiment)
    cells = every_cell(experiment)
    return [
        (published, [_beside(experiment, cell, parameters) for cell in cells if cell.published is published])
        for published in experiment.published
    ]


def _beside(experiment: Experiment, row: PublishedCell, parameters: Parameters) -> Compared:
    seconds = average_s(experiment, row, parameters)
    if "avg_s" in row.figures:
        of_runs = interval_of_mean(row.runs_s) if len(row.runs_s) > 1 else None
        return Compared(row.cell, row.figures["avg_s"], seconds, "s", of_runs)
    speed = experiment.speed
    model = replace(row, figures={"avg_s": seconds})
    return Compared(row.cell, row.speed(speed) or 0.0, model.speed(speed) or 0.0, speed.unit)


def interval_of_mean(runs_s: Sequence[float]) -> tuple[float, float]:
    """Where the mean of all runs lies by these few, with 95 % confidence (Student's t)."""
    half = student_quantile(0.975, len(runs_s) - 1) * stdev(runs_s) / len(runs_s) ** 0.5
    return mean(runs_s) - half, mean(runs_s) + half


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
    courses = (evaluate(scenario, parameters, seed).course for seed in range(1, floods + 1))
    return mean(course.of_first["avg_s"] if _is_first_read(row) else course.avg_s for course in courses)


def _is_first_read(row: PublishedCell) -> bool:
    """Whether a row counts only reads that no page cache could answer: the first of each environment."""
    cell = row.cell.figures()
    return row.published.file == "filesystem_large" and (cell["storage"], cell["read"]) == ("efs", "first")


def document(text: str) -> str:
    """The page with its generated parts made anew. Raises ValueError where one has no place in it."""
    for name, make in (("parameters", _parameters), ("published", _published)):
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        before, opened, rest = text.partition(begin)
        _, closed, after = rest.partition(end)
        if not opened or not closed:
            raise ValueError(f"{DOCUMENT.name} has no place for {name}: put {begin.strip()} and {end} there")
        text = f"{before}{begin}\n{make()}\n{end}{after}"
    return text


def _published() -> str:
    return "\n".join(
        _table(experiment, published, rows)
        for name, experiment in EXPERIMENTS.items()
        if experiment.work
        for published, rows in compared(name)
    )


def _table(experiment: Experiment, published: Published, rows: Sequence[Compared]) -> str:
    """One published table: the axes on which its rows differ, but for those that follow from others, and both
    figures."""
    own = [axis for axis in experiment.axes if not callable(axis.default)]
    axes = [axis for axis in own if len({row.cell[axis.name] for row in rows}) > 1] or own[:1]
    heads = [f"{axis.label}, {axis.unit}" if axis.unit else axis.label for axis in axes]
    fixed = [f"{axis.label} {published.fixed[axis.name]}" for axis in experiment.axes if axis.name in published.fixed]
    title = ", ".join([f"**{experiment.name}**", *fixed])
    unit = rows[0].unit
    heads += [f"published, {unit}", f"model, {unit}", "difference"]
    if rows[0].of_runs:
        heads.append("95 % interval of its runs")
    lines = []
    for row in rows:
        cells = [str(row.cell[axis.name]) for axis in axes]
        cells += [_figure(row.published), _figure(row.model), f"{100 * row.difference:+.1f} %"]
        if row.of_runs:
            cells.append(f"{_figure(row.of_runs[0])} to {_figure(row.of_runs[1])}")
        lines.append(cells)
    caption = textwrap.fill(f"{title}: {published.setting}", width=118)
    return "\n".join([caption, "", *markdown(heads, lines), ""])


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def _parameters() -> str:
    """The files of parameters, AWS's and each experiment's."""
    paths = [path for name in EXPERIMENTS for path in files(name)]
    return "\n".join(map(_parameters_of, dict.fromkeys(paths)))


def _parameters_of(path: Path) -> str:
    heads = ("name", "value", "low to high", "unit", "known", "source", "of")
    lines = []
    for row in known.read(path):
        ends = "" if row.low == row.high else f"{_number(row.low)} to {_number(row.high)}"
        lines.append((f"`{row.name}`", _number(row.value), ends, row.unit, row.known, row.source, row.date))
    name = path.relative_to(DOCUMENT.parent.parent).as_posix()
    return "\n".join([f"`{name}`", "", *markdown(heads, lines, texts={*heads} - {"value"}), ""])


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"


if __name__ == "__main__":
    made = document(DOCUMENT.read_text(encoding="utf-8"))
    DOCUMENT.write_text(made, encoding="utf-8")
    print(f"written: {DOCUMENT.name}", file=sys.stderr)
