"""`stampede simulate`: says what a sweep would find, cell by cell, before anything is created or spent.

The model runs each flood from its first message to the last record: the seconds of one operation, when N is reached and
how much of the work is done at N, how long it takes, what it costs, and which limit binds. Needs no account and
asks nobody.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from experiments import EXPERIMENTS, Experiment
from stampede import terminal
from stampede.cell import cells_of
from stampede.cli.simulated_table import SimulatedRow, headline, print_simulated, simulated_rows
from stampede.cli.verbs.plan_options import plan_of
from stampede.errors import RunError, UsageError
from stampede.full_disk import way_out
from stampede.model.parameters import Parameter
from stampede.phrases import listed
from stampede.planning import cost, predicting
from stampede.planning.predicting import Given
from stampede.planning.settings import path_variables
from stampede.progress import bar, say
from stampede.runs.folder import RunFolder


def run(arguments: argparse.Namespace) -> int:
    """Print the predictions on stdout; status 0."""
    experiment, given = EXPERIMENTS[arguments.experiment], _given(arguments)
    plan = plan_of(arguments)
    cells = []
    with bar() as progress:
        task = progress.add_task("cells", total=len(plan.cells), note="")
        for predicted in predicting.predicted_cells(plan, given):
            cells.append(predicted)
            progress.advance(task)
    rows = simulated_rows(experiment, plan, cells, given)
    if arguments.format == "table":
        answer = headline(experiment, rows, cost.estimate(plan, given=given))
        terminal.show(Text(answer, style="bold"))
        print()
    print_simulated(experiment, rows, given.parameters, arguments.format, arguments.wide)
    if arguments.picture:
        _draw(experiment, rows, arguments.picture)
    return 0


def _given(arguments: argparse.Namespace) -> Given:
    """What the options say beside the plan. Raises UsageError."""
    if arguments.target == "local":
        raise UsageError(
            "--target local: the model predicts sweeps on AWS only",
            f"leave it out, or measure this machine with `stampede sweep {arguments.experiment}`",
        )
    experiment = EXPERIMENTS[arguments.experiment]
    parameters = predicting.parameters_of(experiment, arguments.parameters)
    if arguments.run is not None:
        parameters = parameters.with_rows(_measured(experiment, arguments))
    crashing = (arguments.crash_percent or 0) / 100
    return Given(parameters, arguments.account_concurrency, arguments.bandwidth_quota, crashing)


def _measured(experiment: Experiment, arguments: argparse.Namespace) -> Sequence[Parameter]:
    """What the run measured of the operation. Raises UsageError."""
    if experiment.measured is None:
        raise UsageError(f"--run: the model knows what an operation of {experiment.name} takes; leave it out")
    folder = RunFolder.find(arguments.results_dir, arguments.run)
    run = folder.read_json("run.json", {})
    if (other := run.get("experiment")) != experiment.name:
        raise UsageError(f"--run: {folder.name} is a run of {other}; name one of {experiment.name}")
    cells = cells_of(run, experiment).values()
    for name in path_variables():
        if any(setting.startswith(f"{name}=") for setting in arguments.set):
            continue
        stored = [cell.values.get(name) for cell in cells]
        paths = list(dict.fromkeys(path for path in stored if path and isinstance(path, str)))
        if len(paths) > 1:
            found = f"--run: {folder.name} has {len(paths)} values of {name} ({listed(paths)})"
            raise UsageError(f"{found}; say with --set {name}=... which one it is to be")
        for path in paths:
            if Path(path).exists():
                arguments.set.append(f"{name}={path}")
            else:
                say(f"--run: it measured the {name} {path}, which isn't there any more; the rows name the default")
    place = "aws" if run.get("target") == "aws" else "local"
    try:
        parameters = predicting.parameters_of(experiment)
        rows = experiment.measured(folder.rows("records.jsonl"), parameters, folder.name, place)
    except LookupError as error:
        raise UsageError(f"--run: {error.args[0]}; name another run") from None
    if place == "local":
        say(f"--run: {folder.name} didn't run on AWS: a processor there may be faster or slower")
    return rows


def _draw(experiment: Experiment, rows: Sequence[SimulatedRow], path: Path) -> None:
    # Not above: matplotlib takes a second, and most calls of the command line draw nothing.
    from stampede.report.pictures import predicted_ramp

    # One of each cell: rows of it that only records tell apart have the same curve.
    cells = {row.cell.on(experiment.planned_axes): (row.cell, row.prediction.as_dict()) for row in reversed(rows)}
    chart = predicted_ramp(experiment.worker[1], list(reversed(cells.values())))
    if chart is None:
        say("no picture: nothing would run", style="yellow")
        return
    data = chart.png if path.suffix.lower() == ".png" else chart.svg.encode()
    try:
        path.write_bytes(data)
    except OSError as error:
        raise RunError(f"--picture: {path} can't be written: {error.strerror}; {way_out(error)}") from None
    say(f"picture: {path}")
