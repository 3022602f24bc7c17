"""Predict a sweep from a model of the queue, the ramp and the limits.

Nothing is created: a model runs the flood of each cell from the first message
to the last record. It says when N is reached, what one operation takes, how
long all of them take, what that costs, which limit binds, and how much of the
work is done at N. It needs no account and makes no request.

examples:
  stampede simulate download
      predict the published matrix on AWS
  stampede simulate download --set concurrency_value=10,50 --picture ramp.svg
      another matrix, and its ramp-up
  stampede simulate function --run RUN_ID --messages-per-s 80
      which N carries 80 messages a second of your own function
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments import EXPERIMENTS, Experiment
from stampede.axes import n_axis
from stampede.cell import SETTINGS, Cell, cells_of, common_axes, distinguishing
from stampede.cli.arguments import (
    add,
    add_flag,
    add_own,
    add_plan,
    checked,
    crash_percent,
    find_run,
    own_object_url,
    path,
    plan_of,
    positive_int,
    writable_file,
)
from stampede.errors import UsageError
from stampede.phrases import counted, dollars, duration, listed, minutes, quantity, significant
from stampede.planning.plan import Plan
from stampede.planning.settings import path_variables
from stampede.progress import bar, say
from stampede.tables import Field, Table
from stampede.variable_rules import RULES

if TYPE_CHECKING:
    from stampede.model.parameters import Parameters
    from stampede.planning.predicting import Given, PredictedCell

# A cell with all its repeats, or the first or later operations of its environments, and the
# model's figures of them.
Row = tuple[Cell, dict[str, Any]]


def _percent(share: float) -> str:
    return significant(100 * share)


_stored = partial(Field, only="files")
# The model's figures, in the order of CSV and JSON.
FIGURES = (
    *map(_stored, ("count", "min_s", "p25_s")),
    Field("avg_s", "mean", "s", significant),
    *map(_stored, ("p75_s", "max_s", "p99_s")),
    Field("time_to_n_s", "to N", "s", significant),
    Field("share_at_n", "at N", "%", _percent),
    _stored("most_at_once"),
    Field("drain_s", "drain", "s", significant),
    Field("busy", "busy", "%", _percent),
    *map(_stored, ("peak_requests_per_s", "requests_limit_per_s")),
    Field("usd", "USD", show=dollars),
    Field("binds", "bottleneck", is_text=True),
    *map(_stored, ("span_s", "failed", "dead_lettered")),
)
# These settings decide how many messages an invocation takes.
OF_BATCHES = ("batch_size", "batching_window_s")
# From this share of N on, the queue grows.
FULL = 0.995
# A setting mends a limit if it brings the figure below this share of what it was.
MENDED = 0.9
# A provisioned poller polls at most ten times a second. The model leaves that out, so it can't
# predict what pollers do for shorter operations.
LEAST_POLLED_S = 1.0
# Longer times are shown in minutes.
LONG_S = 600
# More digits say nothing, and the last digits of a logarithm differ between machines.
DIGITS = 6
CAPTION = (
    "“to N”: until N run at once; “at N”: the share of all operations’ time in which N do.",
    "These are predictions of a model; nothing was measured.",
    "--format csv has all figures, --format json their ranges too.",
)

per_second = checked(
    float, "a number of messages a second above 0", lambda value: 0 < value < math.inf
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    add_plan(parser, targets=["aws"])  # the model doesn't describe this machine
    parameters = "JSON list of parameters, as in docs/simulate.md (default: the model's)"
    add_own(parser, "--parameters", parameters, "FILE", path)
    measured = "a run of `function` that measured invocations (default: the example's)"
    add(parser, "--run", help=measured)
    account = "the account's concurrency limit (default: enough for every cell)"
    add_own(parser, "--account-concurrency", account, "N", positive_int)
    quota = "the account has the larger quota of network bandwidth (default: about 0.6 Gbit/s)"
    add_flag(parser, "--bandwidth-quota", quota)
    crashes = "share of the invocations that crash, 0 to 50 (default: %(default)s)"
    add_own(parser, "--crash-percent", crashes, "PERCENT", crash_percent, default=0)
    picture = "draw the functions at once over time, as .svg or .png (default: no picture)"
    add_own(parser, "--picture", picture, "FILE", writable_file(".svg", ".png"))
    load = "the load of your own function: says which N carries it (default: no load)"
    add_own(parser, "--messages-per-s", load, "RATE", per_second)
    add(parser, "--results-dir", "--format")


def run(arguments: argparse.Namespace) -> int:
    """Print the predictions on stdout; status 0."""
    from stampede.planning.predicting import predicted_cells

    experiment, given = EXPERIMENTS[arguments.experiment], _given(arguments)
    if own_object_url(arguments.set) and experiment.own_object:
        raise UsageError(
            "--set object: simulate asks no account for the object's size",
            f"use --set {experiment.own_object.size}=... with its MiB",
        )
    plan = plan_of(arguments)
    with bar() as progress:
        task = progress.add_task("cells", total=len(plan.cells), note="")
        predicted = list(progress.track(predicted_cells(plan, given), task_id=task))
    cells = _cells(plan, predicted, given, arguments.messages_per_s)
    if arguments.format == "table":
        print(*_answer(plan, given, cells, arguments.messages_per_s), sep="\n", end="\n\n")
    _print(experiment, cells, given.parameters, arguments.format)
    if arguments.picture:
        _draw(experiment, cells, arguments.picture)
    return 0


def _given(arguments: argparse.Namespace) -> Given:
    """What the options say besides the plan. Raises UsageError."""
    from stampede.planning.predicting import Given, parameters_of

    experiment = EXPERIMENTS[arguments.experiment]
    for option, value in (("--run", arguments.run), ("--messages-per-s", arguments.messages_per_s)):
        if value is not None and experiment.measured is None:
            raise UsageError(
                f"{option}: is for a function of your own, not for {experiment.name}; leave it out"
            )
    parameters = parameters_of(experiment, arguments.parameters)
    if arguments.run is not None:
        parameters = _with_measured(parameters, arguments)
    crashing = arguments.crash_percent / 100
    return Given(parameters, arguments.account_concurrency, arguments.bandwidth_quota, crashing)


def _with_measured(parameters: Parameters, arguments: argparse.Namespace) -> Parameters:
    """Replace parameters by those that the run of --run measured. Paths and batches that --set
    doesn't name are set as in that run. Raises UsageError."""
    experiment = EXPERIMENTS[arguments.experiment]
    folder = find_run(arguments.results_dir, arguments.run)
    stored = folder.read_json("run.json", {})
    if (other := stored.get("experiment")) != experiment.name:
        raise UsageError(f"--run: {folder.name} is a run of {other}; name one of {experiment.name}")
    settings = arguments.set = arguments.set or []
    of_user = {setting.partition("=")[0] for setting in settings}
    if cells := cells_of(stored, experiment).values():
        cell = min(cells, key=lambda cell: cell.batch_size)
        for name in (*path_variables(), *OF_BATCHES):
            if name not in of_user and (value := cell.values.get(name)):
                settings.append(f"{name}={value}")
    is_aws = stored.get("target") == "aws"
    if not is_aws:
        say(f"--run: {folder.name} didn't run on AWS: a processor there may be faster or slower")
    rows, place = folder.rows("records.jsonl"), "aws" if is_aws else "local"
    try:
        return parameters.with_rows(experiment.measured(rows, parameters, folder.name, place))
    except LookupError as error:
        raise UsageError(f"--run: {error.args[0]}; name another run") from None


def _cells(
    plan: Plan, predicted: Sequence[PredictedCell], given: Given, messages_per_s: float | None
) -> list[Row]:
    """One row for each cell and all its repeats, in the order of the report's table. A load of
    `messages_per_s` keeps the share `busy` of N running on average."""
    from stampede.planning import cost

    def place_of(repeat: PredictedCell) -> Cell:
        return repeat.demand.cell.place()

    rows: list[Row] = []
    for place, group in groupby(sorted(predicted, key=place_of), key=place_of):
        repeats = list(group)
        planned = tuple(repeat.demand.cell for repeat in repeats)
        cell, figures = planned[0].on(place.axes), repeats[0].prediction.as_dict()
        usd = cost.estimate(replace(plan, cells=planned), given=given).total_usd
        count = sum(cell.invocations for cell in planned)
        figures |= {"count": count, "usd": usd, "repeats": len(repeats), "busy": None}
        each_s = figures["of_later"].get("avg_s") or figures["avg_s"]
        if messages_per_s and each_s:
            # Little's law: invocations a second times the seconds of an invocation.
            average = figures["average"] = messages_per_s / cell.batch_size * each_s
            figures["busy"] = average / min(cell.n, cell.values["maximum_concurrency"] or cell.n)
        rows.append((cell, figures))
    return rows


def _by_kind(cell: Cell, figures: dict[str, Any]) -> list[Row]:
    """One row each for the first and the later operations of environments that succeed, with
    their own count, seconds and part of the bill, where records tell the two apart; else one row
    for the cell."""
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


def _answer(
    plan: Plan, given: Given, cells: Sequence[Row], messages_per_s: float | None
) -> Iterator[str]:
    """A line each about the load, the first cell with the largest N, and the whole sweep."""
    from stampede.planning import cost

    estimated = cost.estimate(plan, given=given)
    cell, figures = max(cells, key=lambda row: row[0].n)
    if messages_per_s:
        yield _load(cell, figures, cells, messages_per_s)
    answer = _course(EXPERIMENTS[plan.experiment].operation[0], cell, figures)
    sweep = f"the sweep of {counted(len(plan.cells), 'cell')} takes {minutes(estimated.total_s)}"
    if not estimated.unpriced:
        answer += [f"{dollars(figures['usd'] / figures['repeats'])} USD"]
        sweep += f" and costs {dollars(estimated.total_usd)} USD"
    first, *others = [words.partition(":")[0] for words in figures["binds"].split("; ")]
    limits = [first + _mended(plan, given, cell, figures, first), *others]
    yield "; ".join([*answer, f"limit: {listed(limits)}"])
    yield f"This is for {cell.words}; {sweep}."


def _load(
    cell: Cell, figures: Mapping[str, Any], cells: Sequence[Row], messages_per_s: float
) -> str:
    """How many invocations the load keeps running, and at which N it would queue in cells that
    differ from this one in N alone."""
    load = f"{quantity(messages_per_s)}/s"
    if figures["busy"] is None:
        return f"{load}: no invocation succeeds"
    batch, n, average = cell.batch_size, [n_axis(cell.axes)], figures["average"]
    each_s = quantity(float(f"{average * batch / messages_per_s:.3g}"))
    of_each = f"of {each_s} s each" if batch == 1 else f"in batches of {batch:,}, {each_s} s each"
    queueing = [
        f"N = {other.n:,}"
        for other, row in cells
        if other.without(n) == cell.without(n) and (row["busy"] or 0) >= FULL
    ]
    at_once = f"{quantity(float(f'{average:.3g}'))} at once on average"
    return f"{load} {of_each}: {at_once}; {listed(queueing) or 'no N here'} would queue"


def _course(operation: str, cell: Cell, figures: Mapping[str, Any]) -> list[str]:
    """When N is reached, the seconds of an operation, and when all are done."""
    reached = f"never {cell.n:,} at once, {figures['most_at_once']:,} at most"
    if figures["time_to_n_s"] is not None:
        reached = f"{cell.n:,} at once after {_brief(figures['time_to_n_s'])}"
    each = f"no {operation} succeeds"
    if figures["avg_s"] is not None:
        p99 = "" if figures["p99_s"] is None else f" (p99 {significant(figures['p99_s'])})"
        article = "an" if operation[0] in "aeiou" else "a"
        each = f"{article} {operation} {significant(figures['avg_s'])} s{p99}"
    messages = figures["count"] // figures["repeats"]
    done = messages - figures["dead_lettered"]
    count = f"{done:,}" if done == messages else f"{done:,} of {messages:,}"
    return [reached, each, f"{count} done in {_brief(figures['drain_s'])}"]


def _brief(value_s: float) -> str:
    """A time span in whole seconds, or a long one in minutes: `99 s`, `31 min 4 s`."""
    return duration(value_s) if value_s >= LONG_S else f"{max(1, round(value_s))} s"


def _mended(plan: Plan, given: Given, cell: Cell, figures: Mapping[str, Any], limit: str) -> str:
    """The setting that mends the limit, with the model's figure for it; empty if none helps."""
    from stampede.planning import predicting, rules

    if "ramp" in limit and (figures["avg_s"] or 0) >= LEAST_POLLED_S:
        name, number, figure = "provisioned_pollers", rules.fitting_pollers(cell.n), "time_to_n_s"
    elif limit.startswith("the function's processors"):
        name, number, figure = "memory_size", 2 * cell.values["memory_size"], "avg_s"
    else:
        return ""
    value = dict.fromkeys(RULES[name].attributes, number) or number
    if not RULES[name].allows(value):
        return ""
    changed = replace(plan, cells=(replace(cell, values={**cell.values, name: value}),))
    [prediction] = predicting.predictions(changed, given, ranged=False).values()
    after_s = getattr(prediction, figure)
    if after_s is None or after_s > MENDED * (figures[figure] or math.inf):
        return ""
    after = _brief(after_s) if figure == "time_to_n_s" else f"{significant(after_s)} s"
    return f" (with {name}={number}: {after})"


def _print(experiment: Experiment, cells: Sequence[Row], parameters: Parameters, form: str) -> None:
    """Print the predictions on stdout. A table has N, whatever else tells its rows apart, and the
    figures with a heading."""
    rows = sorted((row for cell in cells for row in _by_kind(*cell)), key=lambda row: row[0])
    places = [cell for cell, _ in rows]
    distinguished = distinguishing(places)
    alike = {*common_axes(places)} - {n_axis(experiment.axes)}
    fields = [
        Field(
            axis.name,
            axis.label,
            axis.unit,
            "{:,}".format if axis.kind is int else str,
            axis.kind is str,
            "files" if axis.name in alike else "",
        )
        for axis in experiment.axes
        if form == "json" or not axis.is_variant or axis.name in distinguished
    ]
    settings = {cell.settings for cell in places}
    if settings != {""}:
        only = "files" if len(settings) == 1 else ""
        fields.append(Field(SETTINGS, SETTINGS, is_text=True, only=only))
    is_loaded = any(figures["busy"] for _, figures in rows)
    fields += [
        _stored(field.name) if field.name == "busy" and not is_loaded else field
        for field in FIGURES
    ]
    fields += map(_stored, (["ranges"] if form == "json" else []) + ["parameters_date"])
    date = max(parameters.row(name).date for name in parameters)
    table = [
        {**cell.figures(), **_rounded(figures), "parameters_date": date} for cell, figures in rows
    ]
    Table("predictions", "", fields, table, CAPTION).print(form)


def _rounded(figures: Mapping[str, Any]) -> dict[str, Any]:
    names = {field.name for field in FIGURES}
    ranges = {name: ends for name, ends in figures["ranges"].items() if name in names and ends}
    digits = {
        name: round(value, DIGITS) for name, value in figures.items() if isinstance(value, float)
    }
    return {**figures, **digits, "ranges": ranges}


def _draw(experiment: Experiment, cells: Sequence[Row], path: Path) -> None:
    from stampede.report.pictures import predicted_ramp

    chart = predicted_ramp(experiment.worker[1], cells)
    if chart is None:
        say("no picture: nothing would run", style="yellow")
        return
    path.write_bytes(chart.png if path.suffix.lower() == ".png" else chart.svg.encode())
    say(f"picture: {path}")
