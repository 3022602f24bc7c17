"""Predict a sweep from a model of the queue, the ramp and the limits.

Cell by cell, and before anything is created: a model runs each flood from the
first message to the last record. It says what one operation takes, when N is
reached, how much of the work is done at N, how long it takes, what it costs,
and which limit binds. It needs no account and makes no request.

examples:
  stampede simulate download
      predict the published matrix on AWS
  stampede simulate download --set concurrency_value=10,50 --picture ramp.svg
      another matrix, and its ramp-up
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from experiments import EXPERIMENTS, Experiment
from stampede.cell import cells_of
from stampede.cli.arguments import add, add_plan, crash_percent, find_run, path, plan_of, positive_int, writable_file
from stampede.errors import RunError, UsageError
from stampede.full_disk import way_out
from stampede.model.parameters import Parameter
from stampede.phrases import listed
from stampede.planning.settings import path_variables
from stampede.progress import bar, say
from stampede.runs.folder import RunFolder

if TYPE_CHECKING:
    from stampede.cli.predicted_table import PredictedRow
    from stampede.planning.predicting import Given


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    add_plan(parser, target="aws")
    parameters = "JSON list of parameters that replace the model's own, as in docs/simulate.md (default: none)"
    parser.add_argument("--parameters", metavar="FILE", type=path, help=parameters)
    measured = "a run of `function`, by id or folder: what its handler takes is taken from it (default: as the example)"
    parser.add_argument("--run", metavar="RUN", help=measured)
    account = "the account's concurrency limit, of which 100 can't be reserved (default: enough for every cell)"
    parser.add_argument("--account-concurrency", metavar="N", type=positive_int, help=account)
    quota = (
        'the account has the quota "Network bandwidth per execution environment": up to 3 Gbit/s at 10 GB of memory, '
        "outside of VPCs (default: no, about 0.6 Gbit/s at every size)"
    )
    parser.add_argument("--bandwidth-quota", action="store_true", help=quota)
    crashes = (
        "share of the invocations that crash or throw an error, 0 to 50; failures that a function reports don't count "
        "(default: 0)"
    )
    parser.add_argument("--crash-percent", metavar="PERCENT", type=crash_percent, help=crashes)
    picture = "draw how many functions would run at once over time, to a .svg or .png file (default: no picture)"
    parser.add_argument("--picture", metavar="FILE", type=writable_file(".svg", ".png"), help=picture)
    wide = "print all figures: also count, extremes, quartiles and peaks (default: what fits into 100 columns)"
    parser.add_argument("--wide", action="store_true", help=wide)
    add(parser, "--results-dir", "--format")


def run(arguments: argparse.Namespace) -> int:
    """Print the predictions on stdout; status 0."""
    from rich.text import Text

    from stampede import terminal
    from stampede.cli.predicted_table import headline, predicted_rows, print_simulated
    from stampede.planning import cost, predicting

    experiment, given = EXPERIMENTS[arguments.experiment], _given(arguments)
    plan = plan_of(arguments)
    cells = []
    with bar() as progress:
        task = progress.add_task("cells", total=len(plan.cells), note="")
        for predicted in predicting.predicted_cells(plan, given):
            cells.append(predicted)
            progress.advance(task)
    rows = predicted_rows(plan, cells, given)
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
    from stampede.planning.predicting import Given, parameters_of

    if arguments.target == "local":
        raise UsageError(
            "--target local: the model predicts sweeps on AWS only",
            f"leave it out, or measure this machine with `stampede sweep {arguments.experiment}`",
        )
    experiment = EXPERIMENTS[arguments.experiment]
    parameters = parameters_of(experiment, arguments.parameters)
    if arguments.run is not None:
        parameters = parameters.with_rows(_measured(experiment, arguments))
    crashing = (arguments.crash_percent or 0) / 100
    return Given(parameters, arguments.account_concurrency, arguments.bandwidth_quota, crashing)


def _measured(experiment: Experiment, arguments: argparse.Namespace) -> Sequence[Parameter]:
    """What the run of --run measured; variables that are paths are set as in the run. Raises UsageError."""
    from stampede.planning.predicting import parameters_of

    if experiment.measured is None:
        raise UsageError(f"--run: the model knows what an operation of {experiment.name} takes; leave it out")
    folder = find_run(arguments.results_dir, arguments.run)
    stored = folder.read_json("run.json", {})
    if (other := stored.get("experiment")) != experiment.name:
        raise UsageError(f"--run: {folder.name} is a run of {other}; name one of {experiment.name}")
    arguments.set += _measured_paths(folder, experiment, arguments.set)
    place = "aws" if stored.get("target") == "aws" else "local"
    try:
        rows = experiment.measured(folder.rows("records.jsonl"), parameters_of(experiment), folder.name, place)
    except LookupError as error:
        raise UsageError(f"--run: {error.args[0]}; name another run") from None
    if place == "local":
        say(f"--run: {folder.name} didn't run on AWS: a processor there may be faster or slower")
    return rows


def _measured_paths(folder: RunFolder, experiment: Experiment, settings: Sequence[str]) -> list[str]:
    """What the run measured of the files and folders that variables name, as --set takes it, without what `settings`
    have. Raises UsageError for several."""
    measured = []
    cells = cells_of(folder.read_json("run.json", {}), experiment).values()
    for name in path_variables():
        stored = [cell.values.get(name) for cell in cells]
        paths = list(dict.fromkeys(path for path in stored if path and isinstance(path, str)))
        if any(setting.startswith(f"{name}=") for setting in settings):
            continue
        if len(paths) > 1:
            several = f"--run: {folder.name} has {len(paths)} values of {name} ({listed(paths)})"
            raise UsageError(several, f"say with --set {name}=... which one it is to be")
        for value in paths:
            if Path(value).exists():
                measured.append(f"{name}={value}")
            else:
                say(f"--run: it measured the {name} {value}, which isn't there any more; the rows name the default")
    return measured


def _draw(experiment: Experiment, rows: Sequence[PredictedRow], path: Path) -> None:
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
