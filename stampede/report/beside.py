"""The table in the published shape: each measured cell, and under it the published row, each marked as whose it is."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from experiments import Experiment
from stampede.cell import SETTINGS, Cell, distinguishing
from stampede.experiment import n_axis
from stampede.phrases import counted, listed, significant, size_words, some
from stampede.report import published
from stampede.report.measured import mean_bytes, moved_bytes, rate
from stampede.report.run import Run
from stampede.runs import cells

# A sentence that names more isn't read to its end.
MOST_PREDICTED = 12


@dataclass(frozen=True)
class Row:
    """One line of the table.

    `figures` has count and the five of the time, None for a planned cell that has none and for what wasn't published;
    the experiment's speed (Mbit/s are what was moved over the mean time, 1 Mbit being 1,000,000 bits); and for measured
    rows `most_at_once` and `share_at_full_n` (0 to 1), the overlap that was reached, and the other metrics of the saved
    query.
    """

    key: Cell
    source: str
    measured: bool
    figures: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.figures.get(name)


@dataclass(frozen=True)
class Beside:
    """The rows in order, and the sentences without which they would mislead."""

    experiment: Experiment
    rows: list[Row]
    caption: list[str]

    @property
    def shown_axes(self) -> frozenset[str]:
        """The axes with a default that lines must name."""
        return distinguishing(row.key for row in self.rows)

    @property
    def unreached(self) -> str:
        """Which N never ran at once, and how many did; "" where all were reached."""
        peaks: dict[int, list[int]] = {}
        for row in self.rows:
            if row["most_at_once"] is not None:
                peaks.setdefault(row.key.n, []).append(row["most_at_once"])
        clauses = []
        for n, reached in sorted(peaks.items()):
            if short := sorted({peak for peak in reached if peak < n}):
                where = "" if max(reached) < n else " in every cell"
                least = f"{short[0]:,} to " if len(short) > 1 else ""
                clauses.append(f"N = {n:,} was not reached{where}: at most {least}{short[-1]:,} ran at once")
        return f"{'; '.join(clauses)}." if clauses else ""

    def columns(self) -> list[str]:
        """The columns of the table as a file: the published ones, the overlap, the variant and what it took."""
        axes = self.experiment.axes
        more = [SETTINGS] if any(row.key.settings for row in self.rows) else []
        speed = self.experiment.speed
        taken = [metric.name for metric in cells.taken(self.experiment) if metric.name != speed.name]
        return [
            *(axis.name for axis in axes if not axis.is_variant),
            *("source", "count", *cells.SECONDS, speed.name, "most_at_once", "share_at_full_n"),
            *(axis.name for axis in axes if axis.is_variant),
            *(*taken, *more),
        ]

    def values(self, row: Row) -> dict[str, Any]:
        """A row by its columns."""
        known = {SETTINGS: "", "source": row.source} | dict(row.figures) | row.key.figures()
        return {name: known.get(name) for name in self.columns()}


def beside_published(run: Run, rows: Iterable[Mapping[str, Any]], numbers: Mapping[str, Any]) -> Beside:
    """Set the cells of `run` beside the published ones.

    `rows` are those of the saved query, `numbers` the run's statistics, for the overlap that was reached. A planned
    cell where nothing was measured keeps its line. Raises cells.CellsError.
    """
    experiment, axes = run.experiment, run.experiment.axes
    measured = {Cell.of_figures(axes, row): row for row in (cells.checked(row, experiment) for row in rows)}
    cells_by_key = {Cell.of_figures(axes, cell): cell for cell in numbers["cells"]}
    sizes, theirs, speed = mean_bytes(run), published.every_cell(experiment), experiment.speed
    means = [metric.name for metric in cells.taken(experiment) if metric.how == "mean"]
    lines: list[Row] = []
    shown: set[int] = set()
    for key in sorted(measured.keys() | set(run.cell_keys())):
        row, cell = measured.get(key, {"count": 0}), cells_by_key.get(key, {})
        overlap = cell.get("parallelism")
        figures = dict(row)
        if cell.get("left_out_of_speeds"):
            # Of whole operations: the saved query also counts some that resumed or failed.
            figures |= {name: cell["client"][name] for name in means}
        figures["most_at_once"] = overlap and overlap["most_at_once"]
        figures["share_at_full_n"] = overlap and overlap["share_of_span_at_full"]
        if speed.how == "rate":
            figures[speed.name] = rate(sizes.get(key), row.get("avg_s"))
        elif speed.how == "per_second":
            figures[speed.name] = 1 / row["avg_s"] if row.get("avg_s") else None
        source = ", ".join([run.source, *(stand_in.short for stand_in in run.stand_ins([key]))])
        lines.append(Row(key, source, measured=True, figures=figures))
        for at, their in enumerate(theirs):
            # What isn't of this very cell is shown once, not beside every cell that it might stand beside.
            if their.key == key or (their.stands_beside(key) and at not in shown):
                shown.add(at)
                figures = {**their.figures, speed.name: their.speed(speed)}
                lines.append(Row(their.row_beside(key), their.published.label, measured=False, figures=figures))
    sentences = caption(run, measured, {line.key for line in lines if line.measured})
    if left_out := sum(cell.get("left_out_of_speeds", 0) for cell in numbers["cells"]):
        sentences.append(
            f"{counted(left_out, *experiment.operation)} left out of {speed.unit}: an earlier delivery "
            "of the message had copied some of the objects, or half of them or more failed."
        )
    sentences += _predicted(run, [key for key, row in measured.items() if row.get("avg_s") is not None])
    table = Beside(experiment, lines, sentences)
    return replace(table, caption=[table.unreached, *sentences]) if table.unreached else table


def caption(run: Run, measured: Collection[Cell], lines: Collection[Cell]) -> list[str]:
    """What must be said with the table of the cells `lines`, of which some were `measured`: whose figures, how much was
    moved, what can't be compared; of the published tables only those that have a row there."""
    experiment, theirs = run.experiment, published.every_cell(run.experiment)
    sentences, shown = _whose(run), []
    for table in experiment.published:
        own = [cell for cell in theirs if cell.published is table]
        keys = [key for key in lines if any(cell.stands_beside(key) for cell in own)]
        if keys:
            shown.append((table, keys))
    sentences += [stand_in.sentence for stand_in in run.stand_ins(measured)]
    untried = experiment.untried.items()
    if names := sorted({key[axis] for key in measured for axis, values in untried if key[axis] in values}):
        sentences.append(
            f"{listed(names)} {'has' if len(names) == 1 else 'have'} never been run on AWS by this project; check "
            "the figures."
        )
    for table, keys in shown:
        if not table.object_bytes:
            sentences.append(f"{table.label}: {table.setting}.")
            continue
        size_bytes, published_size = moved_bytes(run, keys), size_words(table.object_bytes)
        if size_bytes == table.object_bytes:
            sentences.append(f"The {table.moved} is {published_size}, as published ({table.setting}).")
        else:
            here = "of unknown or varying size" if size_bytes is None else size_words(size_bytes)
            sentences.append(
                f"The {table.moved} of this run is {here}, the published one is {published_size} ({table.setting}). "
                f"Compare Mbit/s, not seconds, and with care: a short {experiment.operation[0]} spends a larger "
                "share of its time connecting."
            )
    if not all(table.object_bytes for table, _ in shown):
        unit = experiment.speed.unit
        sentences.append(
            f"Compare {unit} only for objects of similar size, and seconds only for the same number of them."
        )
    tables = "tables have" if len(shown) > 1 else "table has"
    sentences = list(dict.fromkeys(sentences))
    return [*sentences, f"The published {tables} no column for counts or peak concurrency."] if shown else sentences


def _predicted(run: Run, timed: Collection[Cell]) -> list[str]:
    """The mean seconds that the model had predicted for the cells `timed`, in a sentence; of a run on AWS alone."""
    stored = run.manifest.get("prediction")
    forecasts = stored.get("cells") if isinstance(stored, dict) and run.target == "aws" else None
    axes, seconds = run.experiment.planned_axes, {}
    for name, forecast in forecasts.items() if isinstance(forecasts, dict) else ():
        mean_s = forecast.get("avg_s") if isinstance(forecast, dict) else None
        if type(mean_s) in (int, float) and mean_s >= 0 and (key := run.key_of(name)):
            seconds[key.on(axes)] = mean_s
    keys = sorted(seconds.keys() & {key.on(axes) for key in timed})
    of_n, shown = n_axis(axes), distinguishing(keys)
    common = [axis.name for axis in axes if axis.name != of_n and len({key[axis.name] for key in keys}) == 1]
    means = [f"{significant(seconds[key])} s with {key.words_without(common, shown)}" for key in keys]
    return [f"Predicted means: {some(means, MOST_PREDICTED)}."] if means else []


def _whose(run: Run) -> list[str]:
    """Whose figures a run's are, where they aren't AWS's."""
    if run.target == "local":
        ignored = f", and {run.without_effect}" if run.without_effect else ""
        return [f"Rows marked “this machine” ran on the embedded AWS: they describe this machine, not AWS{ignored}."]
    if run.target == "endpoint":
        return [
            f"Rows marked “{run.source}” were measured there, where another program replaces AWS; they aren’t "
            "AWS’s figures."
        ]
    return []
