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
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments import EXPERIMENTS, Experiment
from stampede.axes import Axis, n_axis
from stampede.cell import SETTINGS, Cell, cells_of, distinguishing
from stampede.cli.arguments import (
    add,
    add_plan,
    crash_percent,
    find_run,
    own_object_url,
    path,
    plan_of,
    positive_int,
    writable_file,
)
from stampede.errors import UsageError
from stampede.phrases import dollars, duration, minutes, significant
from stampede.planning.plan import Plan
from stampede.planning.settings import path_variables
from stampede.progress import bar, say

if TYPE_CHECKING:
    from stampede.model.parameters import Parameters
    from stampede.planning.cost import Estimate
    from stampede.planning.predicting import Given, PredictedCell
    from stampede.tables import Field

# A cell with all its repeats, or the first or later operations of its environments, and what the model says of it.
Row = tuple[Cell, dict[str, Any]]
# The model's figures in CSV and JSON.
FIGURES = ("count", "min_s", "p25_s", "avg_s", "p75_s", "max_s", "time_to_n_s", "share_at_n", "most_at_once", "drain_s")
FIGURES += ("peak_requests_per_s", "requests_limit_per_s", "usd", "binds", "span_s", "failed", "dead_lettered")
# More digits say nothing, and the last ones of a logarithm may differ from machine to machine.
DIGITS = 6
CAPTION = (
    "“to N”: until N run at once; “at N”: the share of all operations’ time in which N do.",
    "These are predictions of a model; nothing was measured.",
    "--format csv has all figures, --format json their ranges too.",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    add_plan(parser, targets=["aws"])  # of this machine the model says nothing
    parameters = "JSON list of parameters that replace the model's own, as in docs/simulate.md (default: none)"
    parser.add_argument("--parameters", metavar="FILE", type=path, help=parameters)
    add(parser, "--run", help="a run of `function` that measured what its handler takes (default: as the example)")
    account = "the account's concurrency limit, of which 100 can't be reserved (default: enough for every cell)"
    parser.add_argument("--account-concurrency", metavar="N", type=positive_int, help=account)
    quota = 'the account has the quota "Network bandwidth per execution environment" (default: no, about 0.6 Gbit/s)'
    parser.add_argument("--bandwidth-quota", action="store_true", help=quota)
    crashes = "share of the invocations that crash or throw an error, 0 to 50 (default: %(default)s)"
    parser.add_argument("--crash-percent", metavar="PERCENT", type=crash_percent, default=0, help=crashes)
    picture = "draw how many functions would run at once over time, to a .svg or .png file (default: no picture)"
    parser.add_argument("--picture", metavar="FILE", type=writable_file(".svg", ".png"), help=picture)
    add(parser, "--results-dir", "--format")


def run(arguments: argparse.Namespace) -> int:
    """Print the predictions on stdout; status 0."""
    from stampede.planning import cost, predicting

    experiment, given = EXPERIMENTS[arguments.experiment], _given(arguments)
    if own_object_url(arguments.set) and experiment.own_object:
        asks_nobody = "--set object: simulate asks no account, so it doesn't know how large that is"
        raise UsageError(asks_nobody, f"use --set {experiment.own_object.size}=... with its MiB")
    plan = plan_of(arguments)
    predicted = []
    with bar() as progress:
        task = progress.add_task("cells", total=len(plan.cells), note="")
        for cell in predicting.predicted_cells(plan, given):
            predicted.append(cell)
            progress.advance(task)
    cells = _cells(plan, predicted, given)
    if arguments.format == "table":
        print(_headline(experiment, cells, cost.estimate(plan, given=given)), end="\n\n")
    _print(experiment, cells, given.parameters, arguments.format)
    if arguments.picture:
        _draw(experiment, cells, arguments.picture)
    return 0


def _given(arguments: argparse.Namespace) -> Given:
    """What the options say beside the plan. Raises UsageError."""
    from stampede.planning.predicting import Given, parameters_of

    parameters = parameters_of(EXPERIMENTS[arguments.experiment], arguments.parameters)
    if arguments.run is not None:
        parameters = _with_measured(parameters, arguments)
    crashing = arguments.crash_percent / 100
    return Given(parameters, arguments.account_concurrency, arguments.bandwidth_quota, crashing)


def _with_measured(parameters: Parameters, arguments: argparse.Namespace) -> Parameters:
    """With what the run of --run measured; variables that are paths are set as in the run. Raises UsageError."""
    experiment = EXPERIMENTS[arguments.experiment]
    if experiment.measured is None:
        raise UsageError(f"--run: the model knows what an operation of {experiment.name} takes; leave it out")
    folder = find_run(arguments.results_dir, arguments.run)
    stored = folder.read_json("run.json", {})
    if (other := stored.get("experiment")) != experiment.name:
        raise UsageError(f"--run: {folder.name} is a run of {other}; name one of {experiment.name}")
    settings = arguments.set or []
    of_user = {setting.partition("=")[0] for setting in settings}
    for cell in list(cells_of(stored, experiment).values())[:1]:
        paths = {name: cell.values.get(name) for name in path_variables() if name not in of_user}
        settings += [f"{name}={value}" for name, value in paths.items() if value]
    arguments.set = settings
    place = "aws" if stored.get("target") == "aws" else "local"
    if place == "local":
        say(f"--run: {folder.name} didn't run on AWS: a processor there may be faster or slower")
    try:
        measured = experiment.measured(folder.rows("records.jsonl"), parameters, folder.name, place)
    except LookupError as error:
        raise UsageError(f"--run: {error.args[0]}; name another run") from None
    return parameters.with_rows(measured)


def _cells(plan: Plan, predicted: Sequence[PredictedCell], given: Given) -> list[Row]:
    """Each cell, its repeats in one, in the order of the report's table. The bill is of what is `given` beside the
    plan."""
    from stampede.planning import cost

    repeats_by_place: dict[Cell, list[PredictedCell]] = defaultdict(list)
    for repeat in predicted:
        repeats_by_place[repeat.demand.cell.place()].append(repeat)
    rows: list[Row] = []
    for place, repeats in repeats_by_place.items():
        planned = tuple(repeat.demand.cell for repeat in repeats)
        bill = cost.estimate(replace(plan, cells=planned), given=given)
        total = {"count": sum(cell.messages for cell in planned), "usd": bill.total_usd}
        rows.append((planned[0].on(place.axes), repeats[0].prediction.as_dict() | total))
    return sorted(rows, key=lambda row: row[0])


def _by_kind(cell: Cell, figures: dict[str, Any]) -> list[Row]:
    """The rows of the first operation of each environment, and of the later ones, as far as they succeed, each with its
    own count, seconds and part of the bill, where records tell them apart; else that of the cell."""
    later = {axis.name: axis.later_of(cell.values) for axis in cell.axes if axis.later}
    succeeded = sum(figures[f"of_{kind}"].get("count", 0) for kind in ("first", "later"))
    rows: list[Row] = []
    for kind, values in {"first": {}, "later": later}.items() if later else ():
        own = figures[f"of_{kind}"]
        if own["count"]:
            share = own["count"] / succeeded
            part = {"count": round(share * figures["count"]), "usd": share * figures["usd"]}
            ranges = {**figures["ranges"], "avg_s": figures["ranges"].get(f"{kind}_avg_s")}
            rows.append((cell.moved(values), {**figures, **own, **part, "ranges": ranges}))
    return rows or [(cell, figures)]


def _headline(experiment: Experiment, cells: Sequence[Row], estimated: Estimate) -> str:
    """What comes of the first cell with the largest N, and of the whole sweep, in a sentence."""
    cell, figures = max(cells, key=lambda row: row[0].n)
    time_s, average_s = figures["time_to_n_s"], figures["avg_s"]
    at_n = f"at most {figures['most_at_once']:,} at once" if time_s is None else f"reached after {duration(time_s)}"
    takes = "none succeeds" if average_s is None else f"{experiment.operation[1]} take {significant(average_s)} s"
    costs = "" if estimated.unpriced else f" and costs {dollars(estimated.total_usd)} USD"
    sweep = f"the sweep takes {minutes(estimated.total_s)}{costs}"
    return f"{cell.words}: {at_n}; {takes}; {sweep}; the bottleneck is {figures['binds']}."


def _print(experiment: Experiment, cells: Sequence[Row], parameters: Parameters, form: str) -> None:
    """Print them on stdout: for reading what matters, with N and what else tells the rows apart."""
    from stampede.model.prediction import RANGED
    from stampede.tables import Field, Table, print_rows

    rows = sorted((row for cell in cells for row in _by_kind(*cell)), key=lambda row: row[0])
    table, date = [], max(parameters.row(name).date for name in parameters)
    for cell, figures in rows:
        row = {**cell.figures(), **{name: figures[name] for name in FIGURES}}
        row = {name: round(value, DIGITS) if isinstance(value, float) else value for name, value in row.items()}
        ranges = {name: figures["ranges"][name] for name in RANGED if figures["ranges"].get(name)}
        table.append({**row, "ranges": ranges, "parameters_date": date})
    distinguished = distinguishing(cell for cell, _ in rows)
    axes = [axis for axis in experiment.axes if not axis.is_variant or axis.name in distinguished]
    fields = [_coordinate(axis) for axis in axes]
    fields += [Field(SETTINGS, SETTINGS, is_text=True)] if any(cell.settings for cell, _ in rows) else []
    if form != "table":
        ranges = ["ranges"] if form == "json" else []
        print_rows(table, form, [*(field.name for field in fields), *FIGURES, "parameters_date", *ranges])
        return
    several = {field.name for field in fields if len({row.get(field.name) for row in table}) > 1}
    several.add(n_axis(experiment.axes))
    shown = [field for field in fields if field.name in several]
    shown += [
        Field("avg_s", "mean", "s", significant),
        Field("time_to_n_s", "to N", "s", significant),
        Field("share_at_n", "at N", "%", lambda share: significant(100 * share)),
        Field("drain_s", "drain", "s", significant),
        Field("usd", "USD", show=dollars),
        Field("binds", "bottleneck", is_text=True),
    ]
    Table("predictions", "", shown, table, CAPTION).print(form)


def _coordinate(axis: Axis) -> Field:
    from stampede.tables import Field

    if axis.kind is int:
        return Field(axis.name, axis.label, axis.unit, "{:,}".format)
    return Field(axis.name, axis.label, is_text=True)


def _draw(experiment: Experiment, cells: Sequence[Row], path: Path) -> None:
    from stampede.report.pictures import predicted_ramp

    chart = predicted_ramp(experiment.worker[1], cells)
    if chart is None:
        say("no picture: nothing would run", style="yellow")
        return
    path.write_bytes(chart.png if path.suffix.lower() == ".png" else chart.svg.encode())
    say(f"picture: {path}")
