"""Predict a sweep from a model of the queue, the ramp and the limits.

Nothing is created: a model runs the flood of each cell from the first message
to the last record. It says when N is reached, what one operation takes, how
long all of them take, what that costs, which limit binds, and how much of the
work is done at N. It needs no account, and asks nobody but for the size of an
object of your own.

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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments import EXPERIMENTS, Experiment
from experiments.parameters import known_parameters
from stampede.axes import n_axis
from stampede.cell import SETTINGS, Cell, cells_of, common_axes
from stampede.cli.arguments import (
    add,
    add_flag,
    add_own,
    add_plan,
    checked,
    crash_percent,
    find_run,
    path,
    plan_of,
    positive_int,
    writable_file,
)
from stampede.errors import UsageError, refuse_problems
from stampede.finding import BUILD
from stampede.phrases import counted, dollars, duration, listed, minutes, quantity, significant
from stampede.planning.plan import Plan
from stampede.planning.settings import PATHS
from stampede.progress import bar, say
from stampede.tables import Field, Table
from stampede.variable_rules import RULES

if TYPE_CHECKING:
    from stampede.model.parameters import Parameters
    from stampede.planning.demand import Demand

# The model's figures of a cell with all its repeats, as in run.json, with the `cell`, its `usd`,
# the number of `repeats`, and, under a load, the `average` at once and the share `busy` of N.
Row = dict[str, Any]
# What the model says about the cells of a plan.
Forecast = Callable[[Plan], "list[Demand]"]


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
# More digits say nothing, and the last digits of a logarithm differ between machines.
DIGITS = 6
CAPTION = (
    "“to N”: until N run at once; “at N”: the share of all operations’ time in which N do.",
    "These are predictions of a model; nothing was measured.",
    "--format csv has all figures, --format json their ranges too.",
)
OF_REPEATS = "“USD” is for all repeats of a cell."

per_second = checked(
    float, "a number of messages a second above 0", lambda value: 0 < value < math.inf
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    add_plan(parser, targets=["aws"])  # the model doesn't describe this machine
    add_own(parser, "--parameters", "JSON list of parameters, as in docs/simulate.md", "FILE", path)
    add(parser, "--run", help="a run of `function` that measured invocations")
    add_own(parser, "--account-concurrency", "the account's concurrency limit", "N", positive_int)
    add_flag(
        parser,
        "--bandwidth-quota",
        "the account has the larger quota of network bandwidth (default: about 0.6 Gbit/s)",
    )
    add_own(
        parser,
        "--crash-percent",
        "share of the invocations that crash, 0 to 50 (default: %(default)s)",
        "PERCENT",
        crash_percent,
        default=0,
    )
    add_own(
        parser,
        "--picture",
        "draw the functions at once over time, as .svg or .png",
        "FILE",
        writable_file(".svg", ".png"),
    )
    add_own(
        parser,
        "--messages-per-s",
        "the load of your own function: says which N carries it",
        "RATE",
        per_second,
    )
    add(parser, "--results-dir", "--format")


def run(arguments: argparse.Namespace) -> int:
    """Print the predictions on stdout; status 0."""
    from stampede.planning.predicting import foresee

    experiment = EXPERIMENTS[arguments.experiment]
    parameters = _parameters(arguments, experiment)
    plan, account_concurrency = plan_of(arguments), arguments.account_concurrency
    _refuse(plan, account_concurrency)
    forecast = partial(
        foresee,
        parameters=parameters,
        account_concurrency=account_concurrency,
        bandwidth_quota=arguments.bandwidth_quota,
        crashing=arguments.crash_percent / 100,
    )
    cells = forecast(plan)
    if why_not := next((cell.why_not for cell in cells if cell.why_not), ""):
        raise UsageError(why_not)
    with bar() as progress:
        task = progress.add_task("cells", total=len(cells), note="")
        predicted = _rows(plan, cells, arguments.messages_per_s)
        rows = list(progress.track(predicted, task_id=task))
    if arguments.format == "table":
        answer = _answer(plan, forecast, cells, rows, arguments.messages_per_s)
        print(*answer, sep="\n", end="\n\n")
    date = max(parameters.row(name).date for name in parameters)
    _print(experiment, rows, date, arguments.format)
    if arguments.picture:
        _draw(experiment, rows, arguments.picture)
    return 0


def _refuse(plan: Plan, account_concurrency: int | None) -> None:
    """Raise UsageError for a plan that no account can run, or not one that may run so many
    functions at once. Functions needn't be built."""
    from stampede.planning import rules
    from stampede.planning.demand import demands

    cells = demands(plan)
    findings = rules.check(cells, EXPERIMENTS[plan.experiment], "aws")
    refuse_problems(finding for finding in findings if finding.way_out != BUILD)
    n = max((cell.concurrency for cell in cells if cell.usage.in_lambda), default=0)
    most = n if account_concurrency is None else max(0, account_concurrency - rules.UNRESERVED)
    if n > most:
        raise UsageError(
            f"--account-concurrency {account_concurrency}: {most} can be reserved, because "
            f"{rules.UNRESERVED} must stay unreserved, but concurrency_value is {n}",
            f"sweep a smaller N, or ask AWS for {n + rules.UNRESERVED}",
        )


def _parameters(arguments: argparse.Namespace, experiment: Experiment) -> Parameters:
    """The model's parameters, replaced by those of --parameters and --run. Raises UsageError."""
    from stampede.model.parameters import ParameterError, read

    parameters, file = known_parameters(experiment.name), arguments.parameters
    if file is not None:
        try:
            own = read(file)
            for row in own:
                parameters.row(row.name)  # raises for an unknown one
        except ParameterError as error:
            raise UsageError(
                f"--parameters: {error}", "stampede/model/parameters.json has all names"
            ) from None
        parameters = parameters.with_rows(own)
    return _with_measured(parameters, arguments) if arguments.run is not None else parameters


def _with_measured(parameters: Parameters, arguments: argparse.Namespace) -> Parameters:
    """Replace parameters by those that the run of --run measured. Paths and batches that --set
    doesn't name are set as in that run. Raises UsageError."""
    experiment = EXPERIMENTS[arguments.experiment]
    if experiment.measured is None:
        raise UsageError(
            f"--run: is for a function of your own, not for {experiment.name}", "leave it out"
        )
    folder = find_run(arguments.results_dir, arguments.run)
    stored = folder.read_json("run.json", {})
    if (other := stored.get("experiment")) != experiment.name:
        raise UsageError(f"--run: {folder.name} is a run of {other}; name one of {experiment.name}")
    settings = arguments.set = arguments.set or []
    of_user = {setting.partition("=")[0] for setting in settings}
    if cells := cells_of(stored, experiment).values():
        cell = min(cells, key=lambda cell: cell.batch_size)
        for name in (*PATHS, *OF_BATCHES):
            if name not in of_user and (value := cell.values.get(name)):
                settings.append(f"{name}={value}")
    is_aws = stored.get("target") == "aws"
    if not is_aws:
        say(f"--run: {folder.name} didn't run on AWS: a processor there may be faster or slower")
    rows, place = list(folder.rows("records.jsonl")), "aws" if is_aws else "local"
    failed = sum(row["status"] == "error" for row in rows)
    if failed and not arguments.crash_percent:
        percent = f"--crash-percent {max(1, round(100 * failed / len(rows)))}"
        say(f"--run: {failed:,} of {len(rows):,} attempts failed: {percent} assumes as many")
    try:
        return parameters.with_rows(experiment.measured(rows, parameters, folder.name, place))
    except LookupError as error:
        raise UsageError(f"--run: {error.args[0]}; name another run") from None


def _rows(plan: Plan, cells: Sequence[Demand], messages_per_s: float | None) -> Iterator[Row]:
    """One row for each cell and all its repeats, in the order of the report's table. A load of
    `messages_per_s` keeps the share `busy` of N running on average."""
    from stampede.planning import cost

    in_order = sorted(cells, key=lambda demand: demand.cell)
    for _, group in groupby(in_order, key=lambda demand: demand.cell.place()):
        repeats = list(group)
        cell = repeats[0].cell
        row = repeats[0].question.predict().as_dict() | {
            "cell": cell,
            "count": sum(repeat.cell.invocations for repeat in repeats),
            "repeats": len(repeats),
            "usd": cost.estimate(plan, [replace(each, applies=True) for each in repeats]).total_usd,
            "busy": None,
        }
        each_s = row["of_later"].get("avg_s") or row["avg_s"]
        if messages_per_s and each_s:
            # Little's law: invocations a second times the seconds of an invocation.
            row["average"] = messages_per_s / cell.batch_size * each_s
            most = cell.values["maximum_concurrency"] or cell.n
            row["busy"] = row["average"] / min(cell.n, most)
        yield row


def _answer(
    plan: Plan,
    forecast: Forecast,
    cells: Sequence[Demand],
    rows: Sequence[Row],
    messages_per_s: float | None,
) -> Iterator[str]:
    """A line each about the load, the first cell with the largest N, and the whole sweep."""
    from stampede.planning import cost

    row = max(rows, key=lambda row: row["cell"].n)
    if messages_per_s:
        yield _load(row, rows, messages_per_s)
    answer = _course(EXPERIMENTS[plan.experiment].operation[1], row)
    estimated = cost.estimate(plan, cells)
    sweep = f"the sweep of {counted(len(cells), 'cell')} takes {minutes(estimated.total_s)}"
    without = "".join(f" without {item.what}" for item in estimated.unpriced)
    answer += [f"{dollars(row['usd'] / row['repeats'])} USD{without}"]
    sweep += f" and costs {dollars(estimated.total_usd)} USD{without}"
    first, *others = [words.partition(":")[0] for words in row["binds"].split("; ")]
    limits = [first + _mended(plan, forecast, row, first), *others]
    yield "; ".join([*answer, f"limit: {listed(limits)}"])
    yield f"This is for {row['cell'].words}; {sweep}."


def _load(row: Row, rows: Sequence[Row], messages_per_s: float) -> str:
    """How many invocations the load keeps running, and at which N it would queue in cells that
    differ from this one in N alone."""
    load, cell = f"{quantity(messages_per_s)}/s", row["cell"]
    if row["busy"] is None:
        return f"{load}: no invocation succeeds"
    batch, n = cell.batch_size, [n_axis(cell.axes)]
    each_s = quantity(float(f"{row['average'] * batch / messages_per_s:.3g}"))
    of_each = f"of {each_s} s each" if batch == 1 else f"in batches of {batch:,}, {each_s} s each"
    queueing = [
        f"N = {other['cell'].n:,}"
        for other in rows
        if other["cell"].without(n) == cell.without(n) and (other["busy"] or 0) >= FULL
    ]
    at_once = quantity(float(f"{row['average']:.3g}"))
    full = listed(queueing) or "no N here"
    return f"{load} {of_each}: {at_once} at once on average; {full} would queue"


def _course(operations: str, row: Row) -> list[str]:
    """When N is reached, the seconds of the operations, and when all are done."""
    reached = f"never {row['cell'].n:,} at once, {row['most_at_once']:,} at most"
    if row["time_to_n_s"] is not None:
        reached = f"{row['cell'].n:,} at once after {_brief(row['time_to_n_s'])}"
    each = f"no {operations} succeed"
    if row["avg_s"] is not None:
        p99 = "" if row["p99_s"] is None else f" (p99 {significant(row['p99_s'])})"
        each = f"{operations} take {significant(row['avg_s'])} s{p99}"
    messages = row["count"] // row["repeats"]
    done = messages - row["dead_lettered"]
    count = f"{done:,}" if done == messages else f"{done:,} of {messages:,}"
    return [reached, each, f"{count} done in {_brief(row['drain_s'])}"]


def _brief(value_s: float) -> str:
    """A time span of a second at least."""
    return duration(max(1.0, value_s))


def _mended(plan: Plan, forecast: Forecast, row: Row, limit: str) -> str:
    """The setting that mends the limit, with the model's figure for it; empty if none helps."""
    from stampede.planning import rules

    cell = row["cell"]
    if "ramp" in limit and (row["avg_s"] or 0) >= LEAST_POLLED_S:
        name, number, figure = "provisioned_pollers", rules.fitting_pollers(cell.n), "time_to_n_s"
    elif limit.startswith("the function's processors"):
        name, number, figure = "memory_size", 2 * cell.values["memory_size"], "avg_s"
    else:
        return ""
    value = dict.fromkeys(RULES[name].attributes, number) or number
    if not RULES[name].allows(value):
        return ""
    changed = replace(plan, cells=(replace(cell, values={**cell.values, name: value}),))
    after_s = getattr(forecast(changed)[0].question.predict(ranged=False), figure)
    if after_s is None or after_s > MENDED * (row[figure] or math.inf):
        return ""
    after = _brief(after_s) if figure == "time_to_n_s" else f"{significant(after_s)} s"
    return f" (with {name}={number}: {after})"


def _print(experiment: Experiment, rows: Sequence[Row], date: str, form: str) -> None:
    """Print the predictions on stdout. A table has N, whatever else tells its rows apart, and the
    figures with a heading."""
    rows = sorted((part for row in rows for part in _by_kind(row)), key=lambda row: row["cell"])
    cells = [row["cell"] for row in rows]
    is_loaded = any(row["busy"] for row in rows)
    figures = [
        _stored(field.name) if field.name == "busy" and not is_loaded else field
        for field in FIGURES
    ]
    last = [*(["ranges"] if form == "json" else []), "parameters_date"]
    fields = [*_coordinates(experiment, cells, form), *figures, *map(_stored, last)]
    table = [_in_table(row) | {"parameters_date": date} for row in rows]
    caption = [*CAPTION[:1], OF_REPEATS, *CAPTION[1:]] if rows[0]["repeats"] > 1 else CAPTION
    Table("predictions", "", fields, table, caption).print(form)


def _in_table(row: Row) -> Row:
    """A row with its coordinates, rounded, and with the ranges of its own figures only."""
    names = {field.name for field in FIGURES}
    ranges = {name: ends for name, ends in row["ranges"].items() if ends and name in names}
    rounded = {
        name: round(value, DIGITS) if isinstance(value, float) else value
        for name, value in row.items()
    }
    return rounded | row["cell"].figures() | {"ranges": ranges}


def _coordinates(experiment: Experiment, cells: Sequence[Cell], form: str) -> Iterator[Field]:
    """The columns that say which cell a row is about; for reading those that tell rows apart."""
    alike = {*common_axes(cells)}
    for axis in experiment.axes:
        if form == "json" or not axis.is_variant or axis.name not in alike:
            show = "{:,}".format if axis.kind is int else str
            only = "files" if axis.name in alike - {n_axis(experiment.axes)} else ""
            yield Field(axis.name, axis.label, axis.unit, show, axis.kind is str, only)
    settings = {cell.settings for cell in cells}
    if settings != {""}:
        only = "files" if len(settings) == 1 else ""
        yield Field(SETTINGS, SETTINGS, is_text=True, only=only)


def _by_kind(row: Row) -> list[Row]:
    """One row each for the first and the later operations of environments that succeed, with
    their own count, seconds and part of the bill, where records tell the two apart; else the whole
    row."""
    cell = row["cell"]
    later = {axis.name: axis.later_of(cell.values) for axis in cell.axes if axis.later}
    kinds = {"first": {}, "later": later} if later else {}
    succeeded = sum(row[f"of_{kind}"].get("count", 0) for kind in kinds)
    rows = []
    for kind, values in kinds.items():
        own = row[f"of_{kind}"]
        if own["count"]:
            share = own["count"] / succeeded
            part = {"count": round(share * row["count"]), "usd": share * row["usd"]}
            part["ranges"] = row["ranges"] | {"avg_s": row["ranges"].get(f"{kind}_avg_s")}
            rows.append(row | own | part | {"cell": cell.moved(values)})
    return rows or [row]


def _draw(experiment: Experiment, rows: Sequence[Row], path: Path) -> None:
    from stampede.report.pictures import predicted_ramp

    chart = predicted_ramp(experiment.worker[1], [(row["cell"], row) for row in rows])
    path.write_bytes(chart.png if path.suffix.lower() == ".png" else chart.svg.encode())
    say(f"picture: {path}")
