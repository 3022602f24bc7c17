"""The figures of each cell, from the run's store: operations, seconds, resources, concurrency.

DuckDB counts and adds up; the seconds of single operations are fetched as arrays, from which
medians are resampled.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np

from experiments import Experiment
from stampede.cell import Cell, is_query
from stampede.experiment import FAILED_RUN, Metric
from stampede.report.intervals import (
    MINIMUM_FOR_INTERVAL,
    MINIMUM_ROUNDS,
    MOST_ROUNDS,
    ROUND_BITS,
    Estimate,
    Sample,
    quantile,
)
from stampede.report.run import Run
from stampede.runs import cells as stored_cells
from stampede.runs.store import IS_ONE, Store

BITS_PER_MEGABIT = 1_000_000
BYTES_PER_GIB = 2**30
UNKNOWN = -1
# A quantile at a tail share of q needs 1/q values, so that one is expected beyond it.
SHARES = {
    "p5_s": (0.05, 20),
    "p25_s": (0.25, 1),
    "p75_s": (0.75, 1),
    "p95_s": (0.95, 20),
    "p99_s": (0.99, 100),
}
# Points of a curve over time, two for each bucket.
BUCKETS = 200

_COUNTS = """
SELECT place_at, count(*) FILTER ({counted}) AS count,
       count(*) FILTER (status = 'ok' AND NOT is_warm_up AND NOT is_first_success) AS duplicates,
       count(*) FILTER (status = 'error' AND NOT is_warm_up) AS errors,
       count(*) FILTER (is_warm_up) AS warm_ups,
       count(*) FILTER (is_warm_up AND status = 'error') AS warm_up_errors,
       count(*) FILTER ({counted} AND attempt <> 1) AS retried,
       min(bytes) FILTER ({counted}) AS least_bytes,
           max(bytes) FILTER ({counted}) AS most_bytes{sums}
FROM operations WHERE NOT is_foreign GROUP BY place_at ORDER BY place_at
"""
# An operation whose speed counts: most of its objects didn't fail, and an earlier delivery of the
# message had copied none.
_WHOLE = (
    f"coalesce(already_there, 0) = 0 AND NOT coalesce(failed > 0 AND failed >= {FAILED_RUN} * "
    "planned, false)"
)
_SECONDS = f"""
SELECT place_at, cell_at, round, seconds, cold_start, {{is_whole}} AS is_whole{{speed}}
FROM operations WHERE is_first_success AND {IS_ONE}
"""
_SUCCESSES = """
SELECT place_at, list(seconds) FROM operations
WHERE {counted} AND NOT is_foreign AND place_at IS NOT NULL GROUP BY place_at
"""
_SUCCEEDED = (
    "SELECT cell, count(*) FROM operations WHERE is_first_success AND seq IS NOT NULL GROUP BY cell"
)
# All attempts of a flood, which is a cell or its share of a round.
_ATTEMPTS = f"""
CREATE OR REPLACE TEMP TABLE attempts AS
SELECT coalesce(cell_at, -1) AS cell_at, coalesce(round, 0) AS round, attempt, started_at_ms
    AS started_ms,
       finished_at_ms AS ended_ms, CASE WHEN status = 'ok' THEN {{amount}} ELSE 0 END AS amount,
       false AS is_intruder
FROM operations
WHERE NOT is_foreign AND NOT is_warm_up AND place_at IS NOT NULL AND started_at_ms < finished_at_ms
    AND {IS_ONE}
"""
# Messages redelivered to other cells during a cell's round.
_INTRUDERS = """
INSERT INTO attempts
WITH rounds AS (
    SELECT cell_at, round, min(started_ms) AS first_ms, max(ended_ms) AS last_ms
    FROM attempts WHERE attempt = 1 AND round > 0 AND cell_at >= 0 GROUP BY ALL
)
SELECT rounds.cell_at, rounds.round, late.attempt, late.started_ms, late.ended_ms, late.amount, true
FROM attempts AS late JOIN rounds
    ON late.cell_at <> rounds.cell_at AND late.started_ms < rounds.last_ms
        AND late.ended_ms > rounds.first_ms
WHERE late.attempt > 1 AND late.round > 0 AND late.cell_at >= 0
"""
# Intervals are half-open: an attempt that ends in the millisecond in which another starts doesn't
# overlap it. The changes of a flood add up to 0, so one sum runs through all floods in order: a
# partition for each takes four times as long.
_RUNNING = """
CREATE OR REPLACE TEMP TABLE running AS
WITH steps AS (
    SELECT cell_at, round, at_ms, sum(change) AS change FROM (
        SELECT cell_at, round, started_ms AS at_ms, 1 AS change FROM attempts
        UNION ALL SELECT cell_at, round, ended_ms, -1 FROM attempts
    ) GROUP BY ALL ORDER BY cell_at, round, at_ms
)
SELECT cell_at, round, at_ms, (sum(change) OVER (ROWS UNBOUNDED PRECEDING))::BIGINT AS running,
       CASE WHEN lead(cell_at) OVER () = cell_at AND lead(round) OVER () = round
            THEN lead(at_ms) OVER () - at_ms END AS lasts_ms
FROM steps
"""
_N_OF_CELLS = """
CREATE OR REPLACE TEMP TABLE n_of_cells AS SELECT unnest(?::BIGINT[]) AS cell_at,
    unnest(?::BIGINT[]) AS n
"""
_FLOODS = """
WITH shape AS (
    SELECT cell_at, n, round, max(running) AS peak, sum(lasts_ms)::BIGINT AS span_ms,
           sum(running * lasts_ms)::BIGINT AS busy_ms,
           coalesce(sum(lasts_ms) FILTER (running >= n), 0)::BIGINT AS at_n_ms,
           min(at_ms) FILTER (running >= n) - min(at_ms) AS to_n_ms
    FROM running JOIN n_of_cells USING (cell_at) GROUP BY ALL
), moved AS (
    SELECT cell_at, round, count(*) AS attempts, count(*) FILTER (is_intruder) AS intruders,
           CASE WHEN count(amount) = count(*) THEN sum(amount)::DOUBLE END AS amount
    FROM attempts GROUP BY ALL
)
SELECT * FROM shape JOIN moved USING (cell_at, round) ORDER BY cell_at, round
"""
_PAIRS = """
CREATE OR REPLACE TEMP TABLE pairs AS
SELECT DISTINCT place_at, coalesce(cell_at, -1) AS cell_at FROM operations
WHERE NOT is_foreign AND NOT is_warm_up AND place_at IS NOT NULL ORDER BY ALL
"""
_SENT = """
SELECT cell, count(*) FILTER (NOT is_warm_up), count(*) FILTER (is_warm_up) FROM (
    SELECT DISTINCT cell, seq, message_id, coalesce(warm_up = 1, false) AS is_warm_up FROM sent
) GROUP BY cell
"""
# The minimum and maximum of each stretch of time, after Jugel et al., "M4" (VLDB 2014).
_CURVE = """
WITH steps AS (
    SELECT round, at_ms - min(at_ms) OVER (PARTITION BY round) AS at_ms, running FROM running
        WHERE cell_at = ?
), stretches AS (
    SELECT *, (at_ms * {buckets} / greatest(max(at_ms) OVER (PARTITION BY round),
        1))::INT AS stretch FROM steps
)
SELECT DISTINCT round, at_ms, running FROM (
    SELECT round, unnest([arg_min(at_ms, running), arg_max(at_ms, running), max(at_ms)]) AS at_ms,
           unnest([min(running), max(running), arg_max(running, at_ms)]) AS running
    FROM stretches GROUP BY round, stretch
) ORDER BY round, at_ms
"""


@dataclass(frozen=True)
class Overlap:
    """How many attempts of a cell ran at once, over all its floods: sums of times and amounts,
    divided last.

    `reached` of the `floods` reached N; `time_to_n_s` is their median. `share_at_n` is the part of
    the elapsed time with at least N at once. `aggregate_per_s` is the throughput of all workers:
    Mbit/s, objects copied, or invocations, of successes only.
    """

    peak: int
    mean: float
    share_at_n: float
    time_to_n_s: float | None
    elapsed_s: float
    floods: int
    reached: int
    intruders: int
    aggregate_per_s: float | None


@dataclass(frozen=True)
class Figures:
    """One cell, with all its repeats.

    `seconds` describe all first successes, which `everything` holds: count, quantiles of type 7,
    the exact mean; None if there are too few. `sample` is what is compared: the operations that no
    earlier delivery had begun and in which few objects failed. `speeds` are their speeds if a knee
    is sought; `cold` and `warm` are the first operations of the functions, and the others.
    `size_bytes` is what each operation moved, None if that differs or isn't recorded. `repeats`
    maps the ids of the cell's repeats to their means.
    """

    cell: Cell
    counts: Mapping[str, int | None]
    seconds: Mapping[str, Any]
    median: Estimate | None
    metrics: Mapping[str, float | int | None]
    everything: Sample
    sample: Sample
    speeds: Sample
    cold: Sample
    warm: Sample
    size_bytes: int | None
    mean_bytes: float | None
    overlap: Overlap | None
    repeats: Mapping[str, float] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return self.counts["count"] or 0

    @property
    def lost(self) -> int:
        """How many of its messages never succeeded."""
        return max(0, (self.counts.get("sent") or 0) - (self.counts.get("succeeded") or 0))

    @property
    def lost_share(self) -> float:
        """The share of its messages that never succeeded."""
        sent = self.counts.get("sent") or 0
        return self.lost / sent if sent else 0.0

    @property
    def rounds(self) -> int:
        """How many rounds it ran in, over all repeats, if rounds are resampled; else 0."""
        return 0 if self.sample.rounds is None else len(np.unique(self.sample.rounds))

    def speed(self, experiment: Experiment) -> float | None:
        """The experiment's speed of one worker."""
        return self.metrics.get(experiment.speed.name)

    def as_dict(self) -> dict[str, Any]:
        """The cell as stored in statistics.json."""
        overlap = self.overlap and {**vars(self.overlap)}
        ends = None
        if self.median and self.median.has_interval:
            ends = {"low": self.median.low, "high": self.median.high}
        speed = {}
        if len(self.speeds):
            speed = {"median_speed": self.speeds.median_interval(MINIMUM_ROUNDS)._asdict()}
        return {
            **self.cell.figures(),
            **self.counts,
            "seconds": {**self.seconds, "median_interval": ends},
            **speed,
            "metrics": dict(self.metrics),
            "overlap": overlap,
            "repeats": dict(self.repeats),
            "rounds": self.rounds,
        }


def measure(run: Run) -> dict[Cell, Figures]:
    """Every cell of the run, planned or recorded, sorted by its coordinates. Operations without
    coordinates are left out."""
    store, experiment = run.store, run.experiment
    counts = _counts(store, experiment, f"is_first_success AND {IS_ONE}")
    whole = counts
    if experiment.shared_list:
        whole = _counts(store, experiment, f"is_first_success AND {_WHOLE}")
    seconds, overlaps, sent = _Seconds(run), _overlaps(run), sent_by_cell(store)
    succeeded = dict(store.rows(_SUCCEEDED))
    cells = {}
    for cell in run.cell_keys():
        at = store.numbers.get(cell, UNKNOWN)
        row = counts.get(at, {})
        own = seconds.of(at)
        label = re.sub(r"(?<=\d),(?=\d)", "", cell.plain.words)
        sample = seconds.sample(own, own["is_whole"], f"{label}, all")
        everything = sample
        if not own["is_whole"].all():
            everything = seconds.sample(own, own["is_whole"] | True, f"{label}, all")
        sizes = (row.get("least_bytes"), row.get("most_bytes"))
        is_sized = row.get("count") and row["count_of_bytes"] == row["count"]
        names = ("duplicates", "errors", "warm_ups", "warm_up_errors")
        cells[cell] = Figures(
            cell=cell,
            counts={
                "count": row.get("count", 0),
                **{name: row.get(name, 0) for name in names},
                "sent": None
                if sent is None
                else sum(sent.get(name, (0, 0))[0] for name in run.names_of(cell)),
                "retried": row.get("retried", 0),
                "succeeded": sum(succeeded.get(name, 0) for name in run.names_of(cell)),
            },
            seconds=spread(everything),
            median=everything.median_interval(
                MINIMUM_ROUNDS if experiment.knee else MINIMUM_FOR_INTERVAL
            ),
            metrics=metrics_of(row, whole.get(at, {}), experiment),
            everything=everything,
            sample=sample,
            speeds=seconds.sample(
                own, own["is_whole"] & ~np.isnan(own["speed"]), f"{label}, speed", "speed"
            ),
            cold=seconds.sample(own, own["cold_start"] == 1, f"{label} cold"),
            warm=seconds.sample(own, own["cold_start"] == 0, f"{label} warm"),
            size_bytes=sizes[0] if is_sized and sizes[0] == sizes[1] else None,
            mean_bytes=row["sum_of_bytes"] / row["count"] if is_sized else None,
            overlap=overlaps.get(at),
            repeats=seconds.repeats(own),
        )
    return cells


def spread(sample: Sample) -> dict[str, Any]:
    """Count, extremes, quantiles and mean of a sample's seconds; None where there are too few."""
    values = sample.values
    figures: dict[str, Any] = dict.fromkeys(("min_s", "p5_s", "p25_s", "median_s", "mean_s"))
    figures |= dict.fromkeys(("p75_s", "p95_s", "p99_s", "max_s"))
    if len(values):
        figures |= {
            "min_s": float(values[0]),
            "median_s": sample.median,
            "mean_s": sample.mean,
            "max_s": float(values[-1]),
        }
        for name, (share, needed) in SHARES.items():
            figures[name] = quantile(values, share) if len(values) >= needed else None
    return {"count": len(values), **figures}


def sent_by_cell(store: Store) -> dict[str | None, tuple[int, int]] | None:
    """How many messages each cell was sent, for measurement and as warm-up; None without a
    sent.jsonl. The key None stands for messages without a cell."""
    if "sent" not in store.files:
        return None
    return {cell: (measured, warm_up) for cell, measured, warm_up in store.rows(_SENT)}


def totals(run: Run, cells: Mapping[Cell, Figures]) -> dict[str, int | None]:
    """The counts of the whole run, including operations without coordinates."""
    rows = _counts(run.store, run.experiment, "is_first_success").values()
    names = ("duplicates", "errors", "warm_ups", "warm_up_errors")
    sums = {name: sum(row[name] for row in rows) for name in ("count", *names)}
    sent = sent_by_cell(run.store)
    return {
        "records": sum(sums[name] for name in ("count", "duplicates", "errors", "warm_ups")),
        "downloads": sums["count"],
        **{name: sums[name] for name in names},
        "retried": sum(cell.counts["retried"] or 0 for cell in cells.values()),
        "sent": None if sent is None else sum(measured for measured, _ in sent.values()),
        "sent_warm_up": None if sent is None else sum(warm_up for _, warm_up in sent.values()),
    }


def _counts(store: Store, experiment: Experiment, counted: str) -> dict[int | None, dict[str, Any]]:
    """The counts of each place by its number, None for no place, and the sums of its metrics."""
    metrics = {metric.field for metric in experiment.metrics[1:]} - {experiment.time_field}
    fields = sorted(metrics | {"bytes", "seconds"})
    sums = "".join(
        f', fsum("{name}") FILTER ({counted}) AS "sum_of_{name}"'
        f', count("{name}") FILTER ({counted}) AS "count_of_{name}"'
        for name in fields
    )
    largest = {metric.field for metric in experiment.metrics if metric.how == "max"}
    sums += "".join(
        f', max("{name}") FILTER ({counted}) AS "most_of_{name}"' for name in sorted(largest)
    )
    rows = store.connection.execute(_COUNTS.format(counted=counted, sums=sums))
    names = [name for name, *_ in rows.description]
    listed = (dict(zip(names, row, strict=True)) for row in rows.fetchall())
    return {row["place_at"]: row for row in listed}


def metrics_of(
    row: Mapping[str, Any], whole: Mapping[str, Any], experiment: Experiment
) -> dict[str, float | int | None]:
    """The metrics besides the time, from the counts of a place; None if an operation lacks one.

    A mean is one of `whole` operations: one that was begun before, or failed in part, isn't
    representative.
    """
    return {
        metric.name: _metric(whole if metric.how == "mean" else row, metric)
        for metric in experiment.metrics[1:]
    }


def _metric(row: Mapping[str, Any], metric: Metric) -> float | int | None:
    count, seconds = row.get("count", 0), row.get("sum_of_seconds")
    if not count:
        return None
    if metric.how == "per_second":
        return count / seconds if seconds else None
    if row[f"count_of_{metric.field}"] != count:
        return None
    total = row[f"sum_of_{metric.field}"]
    if metric.how == "sum":
        return int(total)
    if metric.how == "max":
        return row[f"most_of_{metric.field}"]
    if metric.how == "seconds_per":
        return seconds / total if total else None
    if metric.how == "mean":
        return total / count
    if metric.how == "rate":
        return mbit_per_s(total, seconds)
    size_bytes = row["sum_of_bytes"] if row["count_of_bytes"] == count else 0
    return total / size_bytes * BYTES_PER_GIB if size_bytes else None


def mbit_per_s(size_bytes: float | None, seconds: float | None) -> float | None:
    """1 Mbit is 1,000,000 bits; None if either is unknown or no time passed."""
    if size_bytes is None or not seconds:
        return None
    return size_bytes * 8 / BITS_PER_MEGABIT / seconds


class _Seconds:
    """The first successes of a run, by place."""

    def __init__(self, run: Run) -> None:
        experiment, store = run.experiment, run.store
        is_whole = _WHOLE if experiment.shared_list else "true"
        field = f'"{experiment.speed.field}"' if experiment.knee else "NULL"
        speed = f", {field}::DOUBLE AS speed"
        columns = store.arrays(_SECONDS.format(is_whole=is_whole, speed=speed))
        self._names = store.cells
        self._stacks = _stacks(run)
        cell_at, rounds = columns["cell_at"], columns["round"]
        stack_of_cell = np.array([*(self._stack_numbers(run)), UNKNOWN], dtype=np.int64)
        is_in_round = (cell_at != UNKNOWN) & (rounds > 0) & (rounds <= MOST_ROUNDS)
        columns["rounds"] = np.where(
            is_in_round, stack_of_cell[cell_at] << ROUND_BITS | rounds, UNKNOWN
        )
        order = np.argsort(columns["place_at"], kind="stable")
        self._columns = {name: column[order] for name, column in columns.items()}
        places, firsts, counts = np.unique(
            self._columns["place_at"], return_index=True, return_counts=True
        )
        parts = zip(places.tolist(), firsts.tolist(), counts.tolist(), strict=True)
        self._parts = {place: slice(first, first + count) for place, first, count in parts}

    def _stack_numbers(self, run: Run) -> list[int]:
        numbers = {name: at for at, (name, _) in enumerate(self._stacks)}
        return [numbers[run.stack(name)] for name in run.store.cells]

    def of(self, place_at: int) -> dict[str, np.ndarray]:
        """The columns of a place; empty if it has no success."""
        part = self._parts.get(place_at, slice(0))
        return {name: column[part] for name, column in self._columns.items()}

    def sample(
        self, own: Mapping[str, np.ndarray], which: np.ndarray, label: str, column: str = "seconds"
    ) -> Sample:
        return Sample(own[column][which], label, own["rounds"][which], self._stacks)

    def repeats(self, own: Mapping[str, np.ndarray]) -> dict[str, float]:
        """The mean of each cell id that ran here, if there are several."""
        ids = np.unique(own["cell_at"])
        if len(ids) < 2:
            return {}
        names = [*self._names, ""]
        parts = ((names[at], own["seconds"][own["cell_at"] == at].tolist()) for at in ids.tolist())
        return {name: math.fsum(seconds) / len(seconds) for name, seconds in parts}


def _stacks(run: Run) -> list[tuple[str, int]]:
    """The name of each stack that cells ran on, and its last round."""
    rows = (
        f"SELECT cell_at, max(round) FILTER (round <= {MOST_ROUNDS}) FROM operations "
        "WHERE NOT is_foreign AND cell_at IS NOT NULL GROUP BY cell_at"
    )
    lasts = dict.fromkeys(sorted({run.stack(name) for name in run.store.cells}), 0)
    for at, last in run.store.rows(rows):
        stack = run.stack(run.store.cells[at])
        lasts[stack] = max(lasts[stack], last or 0)
    return list(lasts.items())


def _overlaps(run: Run) -> dict[int, Overlap]:
    """The overlap in each place, by its number. Places that only records tell apart share the
    floods of their planned cell."""
    store, experiment = run.store, run.experiment
    prepare_overlap(run)
    floods: dict[tuple[int, int], list[dict[str, Any]]] = {}
    rows = store.connection.execute(_FLOODS)
    names = [name for name, *_ in rows.description]
    for row in rows.fetchall():
        flood = dict(zip(names, row, strict=True))
        floods.setdefault((flood["cell_at"], flood["n"]), []).append(flood)
    by_place: dict[int, list[dict[str, Any]]] = {}
    for place_at, cell_at in store.rows("FROM pairs"):
        by_place.setdefault(place_at, []).extend(
            floods.get((cell_at, store.places[place_at].n), ())
        )
    return {at: _overlap(together, experiment) for at, together in by_place.items() if together}


def prepare_overlap(run: Run) -> None:
    """Create the tables of attempts and of how many ran at once."""
    store, experiment = run.store, run.experiment
    amount = "bytes"
    if experiment.shared_list:
        amount = "copied"
    elif experiment.takes_payload:
        amount = "coalesce(batch, 1)"
    store.connection.execute(_ATTEMPTS.format(amount=amount))
    store.connection.execute(_INTRUDERS)
    store.connection.execute(_RUNNING)
    # The records of an unplanned cell may state several N.
    store.connection.execute(_PAIRS)
    pairs = sorted({(at, store.places[place_at].n) for place_at, at in store.rows("FROM pairs")})
    store.rows(_N_OF_CELLS, [at for at, _ in pairs], [n for _, n in pairs])


def _overlap(floods: Sequence[Mapping[str, Any]], experiment: Experiment) -> Overlap:
    sums = {
        name: sum(flood[name] for flood in floods)
        for name in ("span_ms", "busy_ms", "at_n_ms", "intruders")
    }
    elapsed_s = sums["span_ms"] / 1000
    reached = [flood["to_n_ms"] / 1000 for flood in floods if flood["to_n_ms"] is not None]
    amounts = [flood["amount"] for flood in floods]
    amount = None if None in amounts else sum(amounts)
    is_of_bytes = not experiment.shared_list and not experiment.takes_payload
    return Overlap(
        peak=max(flood["peak"] for flood in floods),
        mean=sums["busy_ms"] / sums["span_ms"],
        share_at_n=sums["at_n_ms"] / sums["span_ms"],
        time_to_n_s=float(np.median(reached)) if reached else None,
        elapsed_s=elapsed_s,
        floods=len(floods),
        reached=len(reached),
        intruders=sums["intruders"],
        aggregate_per_s=mbit_per_s(amount, elapsed_s)
        if is_of_bytes
        else amount and amount / elapsed_s,
    )


def curves(run: Run, cell: Cell) -> Iterator[tuple[list[float], list[int]]]:
    """For each flood of a cell, after `measure`: the seconds since its first start, and how many
    ran from then on."""
    store = run.store
    for (at,) in store.rows(
        "SELECT cell_at FROM pairs WHERE place_at = ?", store.numbers.get(cell, UNKNOWN)
    ):
        for _, flood in groupby(store.rows(_CURVE.format(buckets=BUCKETS), at), key=itemgetter(0)):
            steps = [step[1:] for step in flood]
            yield [at_ms / 1000 for at_ms, _ in steps], [running for _, running in steps]


def counted_rows(run: Run) -> list[dict[str, Any]]:
    """Rows in the format of the saved query, counted from the records: like the query, all
    successes, including repeated ones."""
    store, experiment = run.store, run.experiment
    counted = f"status = 'ok' AND NOT is_warm_up AND {IS_ONE}"
    counts, rows = _counts(store, experiment, counted), []
    for at, seconds in store.rows(_SUCCESSES.format(counted=counted)):
        place = store.places[at]
        metrics = metrics_of(counts[at], counts[at], experiment)
        rows.append((place, stored_cells.counted_row(place, seconds, metrics)))
    return [row for _, row in sorted(rows, key=lambda placed: placed[0])]


def is_of_athena(figures: Figures, experiment: Experiment) -> bool:
    """Whether Athena ran its operations."""
    return is_query(figures.cell, experiment)


def as_text(content: Mapping[str, Any]) -> str:
    """statistics.json as text: indented, each list of plain numbers on one line."""
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    return re.sub(r"\[[-\d.,e+\s]+\]", lambda numbers: re.sub(r"\s+", " ", numbers[0]), text) + "\n"
