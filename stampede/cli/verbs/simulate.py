"""Predict a sweep from a model of the queue, the ramp and the limits.

Cell by cell, and before anything is created: a model runs each flood from the
first message to the last record. It says when N is reached, what one operation
takes, how long all of them take, what that costs, which limit binds, and how
much of the work is done at N. It needs no account and makes no request.

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
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments import EXPERIMENTS, Experiment
from stampede.axes import n_axis
from stampede.cell import SETTINGS, Cell, cells_of, distinguishing
from stampede.cli.arguments import (
    add,
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
from stampede.variable_rules import RULES

if TYPE_CHECKING:
    from stampede.model.parameters import Parameters
    from stampede.planning.predicting import Given, PredictedCell

# A cell with all its repeats, or the first or later operations of its environments, and what the
# model says of it.
Row = tuple[Cell, dict[str, Any]]
# The model's figures in CSV and JSON, in their order.
FIGURES = (
    "count",
    "min_s",
    "p25_s",
    "avg_s",
    "p75_s",
    "max_s",
    "p99_s",
    "time_to_n_s",
    "share_at_n",
    "most_at_once",
)
FIGURES += (
    "drain_s",
    "busy",
    "peak_requests_per_s",
    "requests_limit_per_s",
    "usd",
    "binds",
    "span_s",
    "failed",
)
FIGURES += ("dead_lettered",)
# What decides how many messages an invocation takes.
OF_QUEUE = ("batch_size", "batching_window_s")
# So much of N reads as all of it: the queue grows.
FULL = 0.995
# A setting that mends a limit is worth a word where its figure falls below so much of what it is
# without.
MENDED = 0.9
# A provisioned poller polls ten times a second at most, which the model leaves out: of shorter
# operations it doesn't know what pollers would do.
LEAST_POLLED_S = 1.0
# From here on a time is told in minutes.
LONG_S = 600
# More digits say nothing, and the last ones of a logarithm may differ from machine to machine.
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
    add_plan(parser, targets=["aws"])  # of this machine the model says nothing
    parameters = "JSON list of parameters, as in docs/simulate.md (default: the model's)"
    parser.add_argument("--parameters", metavar="FILE", type=path, help=parameters)
    of_run = "a run of `function` that measured an invocation (default: as the example)"
    add(parser, "--run", help=of_run)
    account = "the account's concurrency limit (default: enough for every cell)"
    parser.add_argument("--account-concurrency", metavar="N", type=positive_int, help=account)
    quota = "the account has the larger quota of network bandwidth (default: about 0.6 Gbit/s)"
    parser.add_argument("--bandwidth-quota", action="store_true", help=quota)
    crashes = "share of the invocations that crash, 0 to 50 (default: %(default)s)"
    parser.add_argument(
        "--crash-percent", metavar="PERCENT", type=crash_percent, default=0, help=crashes
    )
    picture = "draw the functions at once over time, as .svg or .png (default: no picture)"
    parser.add_argument(
        "--picture", metavar="FILE", type=writable_file(".svg", ".png"), help=picture
    )
    load = "the load of your own function: says which N carries it (default: no load)"
    parser.add_argument("--messages-per-s", metavar="RATE", type=per_second, help=load)
    add(parser, "--results-dir", "--format")


def run(arguments: argparse.Namespace) -> int:
    """Print the predictions on stdout; status 0."""
    from stampede.planning import predicting

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
    cells = _cells(plan, predicted, given, arguments.messages_per_s)
    if arguments.format == "table":
        print(*_answer(plan, given, cells, arguments.messages_per_s), sep="\n", end="\n\n")
    _print(experiment, cells, given.parameters, arguments.format)
    if arguments.picture:
        _draw(experiment, cells, arguments.picture)
    return 0


def _given(arguments: argparse.Namespace) -> Given:
    """What the options say beside the plan. Raises UsageError."""
    from stampede.planning.predicting import Given, parameters_of

    experiment = EXPERIMENTS[arguments.experiment]
    for option, value in (("--run", arguments.run), ("--messages-per-s", arguments.messages_per_s)):
        if value is not None and experiment.measured is None:
            raise UsageError(
                f"{option}: is for a function of your own, and not for {experiment.name}; leave it "
                "out"
            )
    parameters = parameters_of(experiment, arguments.parameters)
    if arguments.run is not None:
        parameters = _with_measured(parameters, arguments)
    crashing = arguments.crash_percent / 100
    return Given(parameters, arguments.account_concurrency, arguments.bandwidth_quota, crashing)


def _with_measured(parameters: Parameters, arguments: argparse.Namespace) -> Parameters:
    """With what the run of --run measured; variables that are paths, and the batches, are set as in
    the run. Raises UsageError."""
    experiment = EXPERIMENTS[arguments.experiment]
    folder = find_run(arguments.results_dir, arguments.run)
    stored = folder.read_json("run.json", {})
    if (other := stored.get("experiment")) != experiment.name:
        raise UsageError(f"--run: {folder.name} is a run of {other}; name one of {experiment.name}")
    settings = arguments.set or []
    of_user = {setting.partition("=")[0] for setting in settings}
    for cell in sorted(cells_of(stored, experiment).values(), key=lambda cell: cell.batch_size)[:1]:
        as_there = {
            name: cell.values.get(name)
            for name in [*path_variables(), *OF_QUEUE]
            if name not in of_user
        }
        settings += [f"{name}={value}" for name, value in as_there.items() if value]
        if "batch_size" in of_user:
            there = f"an invocation with {counted(cell.batch_size, 'message')}"
            say(
                f"--run: it has measured {there}, which is taken to last as long with every "
                "batch_size"
            )
    arguments.set = settings
    place = "aws" if stored.get("target") == "aws" else "local"
    if place == "local":
        say(f"--run: {folder.name} didn't run on AWS: a processor there may be faster or slower")
    try:
        measured = experiment.measured(folder.rows("records.jsonl"), parameters, folder.name, place)
    except LookupError as error:
        raise UsageError(f"--run: {error.args[0]}; name another run") from None
    return parameters.with_rows(measured)


def _cells(
    plan: Plan, predicted: Sequence[PredictedCell], given: Given, messages_per_s: float | None
) -> list[Row]:
    """Each cell, its repeats in one, in the order of the report's table. The bill is of what is
    `given` beside the plan; a load of `messages_per_s` keeps the share `busy` of N on average."""
    from stampede.planning import cost

    repeats_by_place: dict[Cell, list[PredictedCell]] = defaultdict(list)
    for repeat in predicted:
        repeats_by_place[repeat.demand.cell.place()].append(repeat)
    rows: list[Row] = []
    for place, repeats in repeats_by_place.items():
        planned = tuple(repeat.demand.cell for repeat in repeats)
        cell, figures = planned[0].on(place.axes), repeats[0].prediction.as_dict()
        bill = cost.estimate(replace(plan, cells=planned), given=given)
        figures |= {"count": sum(cell.invocations for cell in planned), "usd": bill.total_usd}
        figures |= {"repeats": len(repeats), "busy": None}
        each_s = figures["of_later"].get("avg_s") or figures["avg_s"]
        if messages_per_s and each_s:
            # Little's law: so many a second, times the seconds of one.
            figures["average"] = messages_per_s / cell.batch_size * each_s
            figures["busy"] = figures["average"] / min(
                cell.n, cell.values["maximum_concurrency"] or cell.n
            )
        rows.append((cell, figures))
    return sorted(rows, key=lambda row: row[0])


def _by_kind(cell: Cell, figures: dict[str, Any]) -> list[Row]:
    """The rows of the first operation of each environment, and of the later ones, as far as they
    succeed, each with its own count, seconds and part of the bill, where records tell them apart;
    else that of the cell."""
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
    """What comes of the load, of the first cell with the largest N, and of the whole sweep, a line
    each."""
    from stampede.planning import cost

    estimated = cost.estimate(plan, given=given)
    cell, figures = max(cells, key=lambda row: row[0].n)
    if messages_per_s:
        yield _load(cell, figures, cells, messages_per_s)
    operation = EXPERIMENTS[plan.experiment].operation[0]
    answer = [_reached(cell, figures), _seconds_of_one(operation, figures), _done(figures)]
    sweep = [f"This is for {cell.words}; the sweep of {counted(len(plan.cells), 'cell')}"]
    sweep += [f"takes {minutes(estimated.total_s)}"]
    if not estimated.unpriced:
        answer += [f"{dollars(figures['usd'] / figures['repeats'])} USD"]
        sweep += [f"and costs {dollars(estimated.total_usd)} USD"]
    first, *others = [words.partition(":")[0] for words in figures["binds"].split("; ")]
    limits = [first + _mended(plan, given, cell, figures, first), *others]
    yield "; ".join([*answer, f"limit: {listed(limits)}"])
    yield f"{' '.join(sweep)}."


def _load(
    cell: Cell, figures: Mapping[str, Any], cells: Sequence[Row], messages_per_s: float
) -> str:
    """How many invocations the load keeps running, and which N would queue, all else as in the
    cell."""
    load = f"{quantity(messages_per_s)}/s"
    if figures["busy"] is None:
        return f"{load}: no invocation succeeds"
    batch, alike = cell.batch_size, [n_axis(cell.axes)]
    each_s, at_once = figures["average"] * batch / messages_per_s, figures["average"]
    each, average = (quantity(float(f"{value:.3g}")) for value in (each_s, at_once))
    of_each = f"of {each} s each" if batch == 1 else f"in batches of {batch:,}, {each} s each"
    queueing = [
        f"N = {other.n:,}"
        for other, row in cells
        if other.without(alike) == cell.without(alike) and (row["busy"] or 0) >= FULL
    ]
    return (
        f"{load} {of_each}: {average} at once on average; {listed(queueing) or 'no N here'} would "
        "queue"
    )


def _reached(cell: Cell, figures: Mapping[str, Any]) -> str:
    if figures["time_to_n_s"] is None:
        return f"never {cell.n:,} at once, {figures['most_at_once']:,} at most"
    return f"{cell.n:,} at once after {_brief(figures['time_to_n_s'])}"


def _seconds_of_one(operation: str, figures: Mapping[str, Any]) -> str:
    if figures["avg_s"] is None:
        return f"no {operation} succeeds"
    p99 = "" if figures["p99_s"] is None else f" (p99 {significant(figures['p99_s'])})"
    article = "an" if operation[0] in "aeiou" else "a"
    return f"{article} {operation} {significant(figures['avg_s'])} s{p99}"


def _done(figures: Mapping[str, Any]) -> str:
    messages = figures["count"] // figures["repeats"]
    done = messages - figures["dead_lettered"]
    count = f"{done:,}" if done == messages else f"{done:,} of {messages:,}"
    return f"{count} done in {_brief(figures['drain_s'])}"


def _brief(value_s: float) -> str:
    """A time span in whole seconds, a long one in minutes: `99 s`, `31 min 4 s`."""
    return duration(value_s) if value_s >= LONG_S else f"{max(1, round(value_s))} s"


def _mended(plan: Plan, given: Given, cell: Cell, figures: Mapping[str, Any], limit: str) -> str:
    """The setting that mends the limit, and what the model says of it; nothing where that is no
    help."""
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
    """Print them on stdout: for reading what matters, with N and what else tells the rows apart."""
    from stampede.tables import Field, Table

    rows = sorted((row for cell in cells for row in _by_kind(*cell)), key=lambda row: row[0])
    table, date = [], max(parameters.row(name).date for name in parameters)
    for cell, figures in rows:
        row = {name: figures[name] for name in FIGURES}
        row = {
            name: round(value, DIGITS) if isinstance(value, float) else value
            for name, value in row.items()
        }
        ranges = {
            name: ends for name, ends in figures["ranges"].items() if name in FIGURES and ends
        }
        table.append({**cell.figures(), **row, "ranges": ranges, "parameters_date": date})

    def tells_apart(field: Field) -> bool:
        values = {row.get(field.name) for row in table}
        return len(values) > 1 or field.name == n_axis(experiment.axes)

    distinguished = distinguishing(cell for cell, _ in rows)
    fields = [
        Field(
            axis.name,
            axis.label,
            axis.unit,
            "{:,}".format if axis.kind is int else str,
            axis.kind is str,
        )
        for axis in experiment.axes
        if form == "json" or not axis.is_variant or axis.name in distinguished
    ]
    fields += (
        [Field(SETTINGS, SETTINGS, is_text=True)] if any(cell.settings for cell, _ in rows) else []
    )
    fields = [field if tells_apart(field) else replace(field, only="files") for field in fields]
    shown = [
        Field("avg_s", "mean", "s", significant),
        Field("time_to_n_s", "to N", "s", significant),
        Field("share_at_n", "at N", "%", _percent),
        Field("drain_s", "drain", "s", significant),
        Field("busy", "busy", "%", _percent),
        Field("usd", "USD", show=dollars),
        Field("binds", "bottleneck", is_text=True),
    ]
    by_name = {
        field.name: field
        for field in shown
        if field.name != "busy" or any(row["busy"] for row in table)
    }
    more = ["ranges", "parameters_date"] if form == "json" else ["parameters_date"]
    fields += [by_name.get(name) or Field(name, only="files") for name in (*FIGURES, *more)]
    Table("predictions", "", fields, table, CAPTION).print(form)


def _percent(share: float) -> str:
    return significant(100 * share)


def _draw(experiment: Experiment, cells: Sequence[Row], path: Path) -> None:
    from stampede.report.pictures import predicted_ramp

    chart = predicted_ramp(experiment.worker[1], cells)
    if chart is None:
        say("no picture: nothing would run", style="yellow")
        return
    path.write_bytes(chart.png if path.suffix.lower() == ".png" else chart.svg.encode())
    say(f"picture: {path}")
