"""The sections below a page's tables: what failed, the cost, and the folded details."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from stampede.cell import Cell
from stampede.phrases import NOTHING, counted, dollars, percent, quantity, significant, size_words
from stampede.report import access_logs, messages, pictures, prices
from stampede.report.analysis import Analysis
from stampede.report.cells import is_of_athena
from stampede.report.charts import MOST_PANELS
from stampede.report.messages import COUNTS, NO_ORDER, Failure
from stampede.report.render import Detail
from stampede.report.results import coordinates
from stampede.report.run import Run
from stampede.report.trajectories import trajectories
from stampede.runs import evidence
from stampede.runs.account import OBJECT_COUNTS
from stampede.runs.description import is_flood_by_hand
from stampede.runs.folder import FAILED_OBJECTS
from stampede.stacks import hcl
from stampede.tables import Field, Row, Table

# Athena's minimum per query (its pricing page).
LEAST_SCANNED_BYTES = 10 * 2**20
BYTES_IN_A_TB = 2**40
ATHENA_TIMES = ("queue_s", "planning_s", "engine_s")
MOST_REASONS = 30
PROGRAMS = ("Terraform", "Python", "boto3", "MiniStack")


def failures(analysis: Analysis) -> list[Detail]:
    """What failed, by kind with an example, and the account of cells in which not every message
    succeeded exactly once."""
    run, account = analysis.run, analysis.account
    rows = messages.failures(run, account)
    tables = [_failures("failures", "What failed", run, rows)] if rows else []
    unclean = [
        row
        for row in account.rows
        if row["succeeded"] != row["sent"] or row["duplicates"] or row["unexpected"]
    ]
    if unclean and not account.is_clean:
        tables.append(_accounts(run, analysis, unclean))
    if "sent" not in run.store.files and run.accounting is None:
        unknown = ["Unknown: accounting.json and sent.jsonl are missing."]
        return [Detail("failures", "Errors", unknown, tables=tables)]
    details = [Detail("failures", "Errors", tables=tables)] if tables else []
    return [*details, *_objects(analysis)]


def _failures(name: str, title: str, run: Run, rows: Iterable[Failure]) -> Table:
    """A row for each kind of failure, the most frequent first, with the first example."""
    kinds: dict[str, list[Failure]] = {}
    for row in rows:
        kinds.setdefault(row.kind, []).append(row)
    lines = []
    for kind, alike in kinds.items():
        cell = run.cell_words(alike[0].cell) if alike[0].cell else NO_ORDER
        line = {
            "kind": kind,
            "where": cell if len(alike) == 1 else f"{len(alike)} cells",
            "example": alike[0].example,
        }
        for count in ("records", "messages", "recovered"):
            counts = [number for row in alike if (number := getattr(row, count)) is not None]
            line[count] = sum(counts) if counts else None
        lines.append(line)
    lines.sort(key=lambda line: -line["records"])
    fields = [
        Field("kind", "error", is_text=True),
        Field("where", "where", is_text=True, rank=1),
        Field("records", "records", show="{:,}".format, rank=2),
        Field("messages", "messages", show="{:,}".format, rank=3),
        Field("recovered", "succeeded later", show="{:,}".format, rank=4),
        Field("example", "example", is_text=True, rank=5),
    ]
    shown = [field for field in fields if any(line[field.name] is not None for line in lines)]
    return Table(name, title, shown, lines)


def _accounts(run: Run, analysis: Analysis, rows: Sequence[Row]) -> Table:
    """The outcome of every message of these cells."""
    always = ("sent", "succeeded", "failed", "dead_lettered")
    names = [name for name in COUNTS if name in always or any(row[name] for row in rows)]
    fields = [
        Field("cell", "cell", is_text=True),
        *(
            Field(
                name,
                name.replace("_", "-"),
                show="{:,}".format,
                rank=at,
                look=_bad_unless_none(name),
            )
            for at, name in enumerate(names, start=1)
        ),
    ]
    if analysis.account.unrecorded:
        fields.append(
            Field(
                "without_record", "invocations without a record", is_text=True, rank=len(names) + 1
            )
        )
    lines = []
    for row in rows:
        kinds = analysis.account.without_record(row["cell"]).items()
        words = ", ".join(f"{count:,} {kind}" for kind, count in kinds)
        lines.append({**row, "cell": run.cell_words(row["cell"]), "without_record": words})
    caption = [
        "sent = succeeded + failed + dead-lettered + unanswered, warm-ups among them; duplicates "
        "are apart."
    ]
    return Table("accounts", "Where the messages went", fields, lines, caption)


def _bad_unless_none(name: str) -> Any:
    return lambda row: "bad" if name == "unaccounted" and row[name] else ""


def _objects(analysis: Analysis) -> list[Detail]:
    """The objects that failed or aren't accounted for."""
    account = analysis.account
    failed = messages.failed_objects(analysis.run)
    if not failed and not account.open_objects:
        return []
    totals = messages.total_objects(account)
    sums = ", ".join(f"{totals[name]:,} {name.replace('_', ' ')}" for name in OBJECT_COUNTS)
    sentences = [f"{sums}.", *account.open_objects]
    tables = []
    if failed:
        rows = failed[:MOST_REASONS]
        tables = [_failures("objects", "Why objects failed", analysis.run, rows)]
        sentences.append(f"{FAILED_OBJECTS} lists each, with those of earlier attempts.")
    return [Detail("objects", "Objects", sentences, tables=tables)]


def cost(run: Run) -> Detail | None:
    """The sweep's estimate, from run.json; None if nothing ran on AWS, or the cost is unknown."""
    stored = _estimate(run)
    if stored is None:
        return None
    place = (
        f"{stored.get('prices_region') or stored.get('region')}, "
        f"{stored.get('prices_date') or 'date unknown'}"
    )
    sentences = [
        f"Estimated: about ${dollars(stored['total_usd'])}, at list prices of {place}; without "
        "free tier, retries and taxes."
    ]
    unpriced = [str(item.get("what")) for item in _items(stored) if item.get("usd") is None]
    if unpriced:
        sentences.append(f"Price unknown, not included: {', '.join(unpriced)}.")
    return Detail("cost", "Cost", sentences)


def _estimate(run: Run) -> Mapping[str, Any] | None:
    stored = run.manifest.get("cost")
    if run.target != "aws" or not isinstance(stored, dict) or stored.get("is_at_most"):
        return None
    is_whole = _is_number(stored.get("total_usd")) and isinstance(stored.get("items"), list)
    return stored if is_whole else None


def _items(stored: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [item for item in stored["items"] if isinstance(item, dict)]


def _bill(analysis: Analysis) -> Detail | None:
    stored = _estimate(analysis.run)
    if stored is None:
        return None
    fields = [
        Field("service", "service", is_text=True),
        Field("what", "item", is_text=True, rank=1),
        Field("quantity", "quantity", show=quantity, rank=2),
        Field("unit", "unit", is_text=True, rank=3),
        Field("usd", "cost", "USD", show=dollars, rank=4),
    ]
    rows = [row for row in map(_bill_row, _items(stored)) if row["quantity"] != 0]
    return Detail(
        "bill", "Estimated cost by service", tables=[Table("items", "Before the run", fields, rows)]
    )


def _bill_row(item: Mapping[str, Any]) -> dict[str, Any]:
    numbers = {
        name: item.get(name) if _is_number(item.get(name)) else None
        for name in ("quantity", "usd", "usd_per_unit")
    }
    if not numbers["usd"] and numbers["quantity"] and numbers["usd_per_unit"]:
        # run.json has no millionths of a dollar
        numbers["usd"] = numbers["quantity"] * numbers["usd_per_unit"]
    return {**{name: str(item.get(name) or "") for name in ("service", "what", "unit")}, **numbers}


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def details(analysis: Analysis) -> list[Detail]:
    """The folded details that have something to show."""
    parts = (
        _distribution,
        _overlap,
        _resources,
        _athena,
        _rates,
        _access_logs,
        _evidence,
        _bill,
        _environment,
    )
    shown = [detail for part in parts if (detail := part(analysis))]
    return [*shown, _definitions(analysis)]


def _row(cell: Cell, figures: Mapping[str, Any]) -> dict[str, Any]:
    return {**cell.figures(), "cell": cell, "is_measured": True, **figures}


def _distribution(analysis: Analysis) -> Detail | None:
    cells = [figures for figures in analysis.cells.values() if figures.count]
    chart = pictures.boxes(analysis)
    if not chart:
        return None
    rows = [_row(figures.cell, figures.seconds) for figures in cells]
    names = ("min_s", "p5_s", "p25_s", "median_s", "p75_s", "p95_s", "p99_s", "max_s")
    seconds = [
        Field(name, name.removesuffix("_s"), "s", significant, rank=at)
        for at, name in enumerate(names, start=2)
    ]
    filled = [field for field in seconds if any(row[field.name] is not None for row in rows)]
    fields = [
        *coordinates(rows, analysis.experiment),
        Field("count", "n", show="{:,}".format, rank=1),
        *filled,
    ]
    table = Table(
        "distribution", f"Seconds for one {analysis.experiment.operation[0]}", fields, rows
    )
    return Detail("spread", "Distribution of times", charts=[chart], tables=[table])


def _overlap(analysis: Analysis) -> Detail | None:
    cells = [figures for figures in analysis.planned if figures.overlap]
    if not cells:
        return None
    rows = [_row(figures.cell, vars(figures.overlap)) for figures in cells]
    aggregate = "Mbit/s"
    if analysis.experiment.shared_list:
        aggregate = "objects/s"
    elif analysis.experiment.takes_payload:
        aggregate = f"{analysis.experiment.operation[1]}/s"
    fields = [
        *coordinates(rows, analysis.experiment),
        Field("peak", "peak", show="{:,}".format, rank=1, look=_short_of_n),
        Field("mean", "mean", show=significant, rank=2),
        Field("time_to_n_s", "time to N", "s", significant, rank=3),
        Field("share_at_n", "at N", "% of time", percent, rank=4),
        Field("elapsed_s", "elapsed", "s", significant, rank=5),
        Field(
            "aggregate_per_s",
            f"all {analysis.experiment.worker[1]}",
            aggregate,
            significant,
            rank=6,
        ),
    ]
    # A single function has no curve.
    charts, undrawn = [], []
    # A single function has no curve.
    if max(figures.cell.n for figures in cells) > 1 and (chart := pictures.timeline(analysis)):
        charts = [chart]
        if len(cells) > MOST_PANELS:
            undrawn = [f"The picture has the first {MOST_PANELS} of {len(cells)} cells."]
    table = Table("concurrency", "At once", fields, rows)
    return Detail("overlap", "Concurrency reached", undrawn, charts, [table])


def _short_of_n(row: Row) -> str:
    return "short" if row["peak"] < row["cell"].n else ""


def _resources(analysis: Analysis) -> Detail | None:
    """What operations used besides time; Athena's queries have their own table."""
    experiment = analysis.experiment
    cells = [
        figures
        for figures in analysis.cells.values()
        if figures.count and not is_of_athena(figures, experiment)
    ]
    metrics = [
        metric
        for metric in experiment.metrics[1:]
        if metric != experiment.speed and any(figures.metrics[metric.name] for figures in cells)
    ]
    if not metrics:
        return None
    rows = [_row(figures.cell, figures.metrics) for figures in cells]
    fields = [
        Field(
            metric.name,
            f"{metric.label}, total" if metric.how == "sum" else metric.label,
            metric.unit,
            f"{{:,.{metric.digits}f}}".format,
            rank=at,
        )
        for at, metric in enumerate(metrics, start=1)
    ]
    title = f"Resources: means of one {experiment.operation[0]}, and totals of all"
    caption = [metric.reading for metric in metrics if metric.reading]
    table = Table("taken", title, [*coordinates(rows, experiment), *fields], rows, caption)
    return Detail("resources", "Resources", tables=[table])


def _athena(analysis: Analysis) -> Detail | None:
    """The times that Athena reports for its queries, and their cost."""
    experiment, run = analysis.experiment, analysis.run
    cells = [
        figures
        for figures in analysis.cells.values()
        if figures.count and is_of_athena(figures, experiment)
    ]
    if not cells:
        return None
    tb_usd, rows = prices.stored(run).get("athena_tb"), []
    for figures in cells:
        scanned, usd = figures.metrics.get("scanned_bytes"), None
        if tb_usd is not None and scanned is not None:
            usd = max(scanned, LEAST_SCANNED_BYTES) / BYTES_IN_A_TB * tb_usd
        own = {**figures.metrics, "avg_s": figures.seconds["mean_s"], "usd": usd}
        rows.append(_row(figures.cell, own))
    fields = [
        *coordinates(rows, experiment),
        Field("avg_s", "total", "s", significant, rank=1),
        *(Field(name, name.removesuffix("_s"), "s", significant, rank=2) for name in ATHENA_TIMES),
        Field("scanned_bytes", "scanned", "MB", lambda size: f"{size / 1e6:,.1f}", rank=3),
        *([Field("usd", "per query", "USD", dollars, rank=4)] if tb_usd else []),
    ]
    caption = [
        "Planning is part of engine. Cost: bytes scanned, at least 10 MB; requests to S3 are not "
        "included."
    ]
    table = Table(
        "queries", "Athena’s own times, means", fields, rows, caption if tb_usd else caption[:0]
    )
    return Detail("athena", "Athena", tables=[table])


def _rates(analysis: Analysis) -> Detail | None:
    shown = trajectories(analysis.run)
    chart = pictures.rates(shown)
    if not chart:
        return None
    names = ("most_per_s", "most_in_flight", "slow_share")
    rows = [
        _row(trajectory.cell, {name: getattr(trajectory, name) for name in names})
        for trajectory in shown
    ]
    fields = [
        *coordinates(rows, analysis.experiment),
        Field("most_per_s", "most copied", "per s", quantity, rank=1),
        Field("most_in_flight", "most in flight", show=quantity, rank=2),
        Field("slow_share", "SlowDown", "% of calls", percent, rank=3),
    ]
    table = Table(
        "rates", f"The median {analysis.experiment.operation[0]} of each cell", fields, rows
    )
    timed = sum(figures.count > 0 for figures in analysis.cells.values())
    short = []
    if timed > len(shown):
        short = [f"{counted(timed - len(shown), 'cell')} ended too soon to have a course."]
    return Detail("rate", "Rate over time", short, [chart], [table])


def _access_logs(analysis: Analysis) -> Detail | None:
    return access_logs.detail(analysis.run)


def _evidence(analysis: Analysis) -> Detail | None:
    """What the run showed about the assumptions on AWS."""
    stored = evidence.stored(analysis.run.directory, analysis.run.warnings)
    if "checks" not in stored:
        return None
    fields = [
        Field("assumption", "assumption", is_text=True),
        Field("outcome", "outcome", is_text=True, rank=1, look=_bad_if_contradicted),
        Field("held", "held", show="{:,}".format, rank=2),
        Field("contradicted", "contradicted", show="{:,}".format, rank=3),
        Field("figures", "figures", is_text=True, rank=4),
    ]
    sentence = f"These rows are in {evidence.FILE}; docs/evidence.md says how to send it in."
    whose = "" if analysis.run.target == "aws" else "This run asked an endpoint, not AWS. "
    table = Table(
        "evidence-checks",
        "Assumptions about AWS that this run checked",
        fields,
        evidence.rows(stored),
    )
    return Detail("evidence", "Evidence", [whose + sentence], tables=[table])


def _bad_if_contradicted(row: Row) -> str:
    return "bad" if row["outcome"] == evidence.CONTRADICTED else ""


def _environment(analysis: Analysis) -> Detail:
    terms = environment(analysis.run)
    same = _set_in_all_cells(analysis.run)
    return Detail("environment", "This run", terms=[*terms, *([("set", same)] if same else [])])


def _set_in_all_cells(run: Run) -> str:
    """`object_size_mb=64, ...`: what the plan sets alike for all cells."""
    plan, cell = run.manifest.get("plan"), next(iter(run.cells.values()), None)
    names = plan.get("fixed") if isinstance(plan, Mapping) else None
    if cell is None or not isinstance(names, list):
        return ""
    fixed = {name: cell.values[name] for name in map(str, names) if name in cell.values}
    return ", ".join(f"{name}={hcl.text_of(value)}" for name, value in fixed.items())


def environment(run: Run) -> list[tuple[str, str]]:
    """Where, when and with what the run took place, from run.json."""
    manifest = run.manifest
    parts = (manifest.get("versions"), manifest.get("machine"))
    versions, machine = (part if isinstance(part, Mapping) else {} for part in parts)
    unfinished = "unknown: it may have been interrupted"
    if is_flood_by_hand(manifest):
        unfinished = "not recorded"
    terms = [
        ("run", run.run_id),
        ("target", run.source),
        ("object", _object(manifest.get("object"))),
        ("started", moment(manifest.get("started_at"))),
        ("finished", moment(manifest.get("finished_at")) or unfinished),
        *((name, str(versions.get(name.lower()) or "")) for name in PROGRAMS),
        ("machine", _machine(machine)),
    ]
    return [(label, text) for label, text in terms if text]


def _object(stored: object) -> str:
    """The user's own object that was read; empty if the run created its own."""
    if not isinstance(stored, Mapping) or not stored.get("url"):
        return ""
    size = stored.get("bytes")
    return ", ".join(
        [
            str(stored["url"]),
            *([size_words(size)] if type(size) is int else []),
            f"ETag {stored.get('etag')}",
        ]
    )


def _machine(machine: Mapping[str, Any]) -> str:
    processors, memory_bytes = machine.get("processors"), machine.get("memory_bytes")
    parts = [str(machine["system"])] if machine.get("system") else []
    parts += [counted(processors, "processor")] if type(processors) is int else []
    parts += [size_words(memory_bytes)] if type(memory_bytes) is int else []
    return ", ".join(parts)


def moment(value: object) -> str:
    """An ISO 8601 time in readable form; None as an empty text, anything else unchanged."""
    if isinstance(value, str):
        try:
            return f"{datetime.fromisoformat(value):%Y-%m-%d %H:%M:%S %Z}".strip()
        except ValueError:
            return value
    return "" if value is None else str(value)


def _definitions(analysis: Analysis) -> Detail:
    one, many = analysis.experiment.operation
    workers = analysis.experiment.worker[1]
    terms = [
        ("N", f"How many {workers} may run at once."),
        ("n", f"First successes of messages, without warm-ups; a redelivered {one} counts once."),
        (
            "median, quantiles",
            "Linear between ranks: type 7 of Hyndman and Fan (1996). cells.csv has the saved "
            "query’s.",
        ),
        (
            "95 %",
            "Percentile bootstrap, widened for small samples (Hesterberg 2015). With five rounds "
            "or repeats, whole ones are resampled, the same for interleaved cells; else single "
            f"{many}, as if independent. All ratios of a kind hold at once (Šidák 1967).",
        ),
        (
            "same, faster, slower",
            "The whole interval lies within 10 % of 1 (0.90 to 1.11), or beyond on one side.",
        ),
        (
            "at least slightly",
            "The whole interval lies on one side of 1, but reaches into those 10 %.",
        ),
        ("peak", f"The most {workers} that ran at once, failed and repeated attempts among them."),
        ("at N", "The part of the time from first start to last end with N running."),
        (f"all {workers}", "What their successes got together over that time, pauses included."),
    ]
    if analysis.experiment.knee:
        knee = (
            "The smallest value that no larger one beats by more than 10 % in the median. Where "
            "intervals leave that open, or it is the largest tried, each that may be it is marked. "
            "Unlike others, its ratios hold each on its own."
        )
        terms.append(("knee", knee))
    return Detail("counting", "Definitions", terms=terms)


def settings(sides: Sequence[Run]) -> Table | None:
    """How the run.json of several runs differ; None if they don't."""
    tables = [
        dict(_flat({name: _without_cells(run.manifest.get(name)) for name in ("account", "plan")}))
        for run in sides
    ]
    for table, run in zip(tables, sides, strict=True):
        table |= dict(environment(run))
    labels = dict.fromkeys(label for table in tables for label in table)
    rows = [
        {
            "setting": label,
            **{str(at): table.get(label, NOTHING) for at, table in enumerate(tables)},
        }
        for label in labels
    ]
    differing = [row for row in rows if len(set(list(row.values())[1:])) > 1]
    letters = [Field(str(at), chr(ord("A") + at), is_text=True, rank=1) for at in range(len(sides))]
    fields = [Field("setting", "setting", is_text=True), *letters]
    return Table("settings", "What else differs", fields, differing) if differing else None


def _without_cells(part: object) -> object:
    """A part of run.json without what grows with the run, or is on the page already."""
    left_out = {
        "order",
        "cells",
        "rest",
        "target",
        "paths",
        "warm_up_messages",
        "start_barrier",
        "also",
    }
    if not isinstance(part, Mapping):
        return part
    return {name: value for name, value in part.items() if name not in left_out}


def _flat(value: object, prefix: str = "") -> list[tuple[str, str]]:
    """The leaves of a JSON value with their paths, such as `plan: fixed: object size mb`."""
    if isinstance(value, Mapping):
        places = (
            (f"{prefix}: {name}" if prefix else str(name), part) for name, part in value.items()
        )
        return [leaf for place, part in places for leaf in _flat(part, place)]
    text = "not set" if value is None else str(value)
    if isinstance(value, list):
        text = ", ".join(map(str, value))
    return [(prefix.replace("_", " "), text)] if prefix else []
