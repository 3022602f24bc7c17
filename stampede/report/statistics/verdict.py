"""The answer in words: the headline, whether N was reached, and what must be said with both."""

from collections.abc import Mapping, Sequence
from typing import Any

from stampede.cell import Cell, distinguishing, ignored_axes
from stampede.experiment import is_of_n, n_axis
from stampede.phrases import capitalised, counted, listed, significant, some
from stampede.report import sdks
from stampede.report.run import Run
from stampede.report.statistics import drift, rules
from stampede.report.statistics.comparisons import conclusion, took_words
from stampede.report.statistics.headline import failed_objects, headline
from stampede.report.statistics.knee import Series
from stampede.runs.evidence import contradictions

Figures = Mapping[str, Any]

# Below this share of the time at full N, figures "at N" are mostly figures of less.
ENOUGH_AT_FULL = 0.5
# A sentence that names more than this is not read to its end.
NAMED = 3


def verdict(
    run: Run,
    cells: Sequence[Figures],
    comparisons: Mapping[str, Sequence[Figures]],
    by_size: Sequence[Figures] = (),
    knees: Sequence[Series] = (),
    memories: Sequence[Figures] = (),
) -> dict[str, Any]:
    """Level, headline, whether throughput per worker holds as N grows, for all else that was swept one by one,
    whether N was reached, and what must be said with it.

    `cells`, `comparisons`, `by_size` and `memories` are those of statistics.json.
    """
    # Each N against the smallest.
    of_n = next(
        (comparisons[compare.name] for compare in run.experiment.compare if is_of_n(run.experiment, compare)), []
    )
    places = _places(run, cells, of_n)
    levels = {place["level"] for place in places}
    level = levels.pop() if len(levels) == 1 else "mixed" if levels else "cant_tell"
    words = _Words(run, cells)
    # What compares planned cells, and isn't unknown.
    across = [compare.name for compare in run.experiment.compare if drift.between_cells(compare, run.experiment)]
    compared = [row for name in across for row in comparisons.get(name, ()) if row["all"]["level"] != "cant_tell"]
    compared += [point for series in by_size for point in series["points"] if point["speedup"]["low"] is not None]
    compared += [series.figures() for series in knees]
    compared += [point for series in memories for point in series["points"] if point["against_fastest"]]
    return {
        "level": level,
        "headline": headline(run, cells, comparisons, by_size, [series.claim() for series in knees], memories),
        "per_memory": places,
        "reached": words.reached(),
        "caveats": words.caveats(of_n, compared, bool(knees)),
    }


def _places(run: Run, cells: Sequence[Figures], of_n: Sequence[Figures]) -> list[dict[str, Any]]:
    """The largest N against the smallest, for each combination of whatever else was swept."""
    name_of_n = n_axis(run.experiment.axes)
    keys = [Cell.of_figures(run.experiment.axes, cell) for cell in cells]
    named_axes = distinguishing(keys)
    places: dict[tuple[Any, ...], dict[str, Any]] = {}
    for key in keys:
        named = key.words_without((name_of_n,), named_axes)
        place = {name: value for name, value in key.figures().items() if name != name_of_n}
        words = f"{named}: only {key.value_words(name_of_n)} ran, so the effect of N is unknown."
        places.setdefault(
            key.without((name_of_n,)), place | {"level": "cant_tell", "words": words, "holds_up_to": None}
        )
    still_holds = dict.fromkeys(places, True)
    for row in of_n:
        at = Cell.of_figures(run.experiment.axes, row).without((name_of_n,))
        still_holds[at] &= row["all"]["level"] == "holds"
        places[at] |= {"level": row["all"]["level"], "words": row["all"]["words"]}
        if still_holds[at]:
            places[at]["holds_up_to"] = row[name_of_n]
    return list(places.values())


def reservations(run: Run, cells: Sequence[Figures]) -> list[str]:
    """What must be said with any figure of `run`: where it ran, what was replaced, and what its times leave out."""
    return _Words(run, cells).reservations()


class _Words:
    """Sentences about the cells of a run."""

    def __init__(self, run: Run, cells: Sequence[Figures]) -> None:
        self._run, self._cells = run, cells
        self._named_axes = distinguishing(map(self._key, cells))
        # Rows that only records tell apart are of one planned cell, and have its overlap and its messages.
        self._planned: dict[Cell, list[Figures]] = {}
        for cell in cells:
            self._planned.setdefault(self._key(cell).on(run.experiment.planned_axes), []).append(cell)
        self._axes_of_planned = distinguishing(self._planned)

    def reached(self) -> str:
        """Whether N really ran at once, cell by cell where it didn't."""
        timed = []
        for key, rows in self._planned.items():
            timed += [(key, row["parallelism"]) for row in rows if row["parallelism"]][:1]
        if not timed:
            return "The peak concurrency is unknown: no record has its start and end times."
        short, partly, over = [], [], []
        for key, parallelism in timed:
            named, n = self._named_planned(key), key.n
            if parallelism["most_at_once"] < n:
                short.append(f"{parallelism['most_at_once']:,} of {n:,} with {named}")
            elif parallelism["most_at_once"] > n:
                over.append(f"{parallelism['most_at_once']:,} with {named}")
            unit = "rounds" if "rounds" in parallelism else "repeats"
            if 0 < parallelism["reached_full"] < parallelism[unit]:
                partly.append(f"in {parallelism['reached_full']} of {parallelism[unit]} {unit} with {named}")
        sentences = []
        if short:
            sentences.append(f"Not every cell reached its N; peak concurrency: {some(short, NAMED)}.")
        if partly:
            sentences.append(f"N wasn’t reached every time: {some(partly, NAMED)}.")
        if over:
            sentences.append(f"More than N ran at once: {some(over, NAMED)}.")
        if not sentences:
            cells = "Every cell" if len(timed) == len(self._planned) else "Every cell with records"
            sentences.append(f"{cells} reached its N.")
        return " ".join(sentences)

    def caveats(self, of_n: Sequence[Figures], compared: Sequence[Figures], has_knees: bool) -> list[str]:
        """What must be said with the figures, the weightiest first; `compared` are rows of which something is said."""
        caveats = [*contradictions(self._run.directory), *self.reservations()]
        if any(cell["count"] for cell in self._cells):
            left_out = rules.independence(self._run.experiment, self._cells, has_knees)
            caveats.append(f"{left_out} {drift.sentence(compared, self._cells)}".rstrip())
        caveats += [*self._repeats_differ(), *self._seldom_full()]
        return [*caveats, *self._pooled(), *self._otherwise_inside(of_n)]

    def reservations(self) -> list[str]:
        """See `reservations`."""
        caveats = []
        if self._run.target == "local":
            ignored = f"; {self._run.without_effect}{self._apart()}" if self._run.without_effect else ""
            caveats.append(f"These figures describe this machine and its emulator, not AWS{ignored}.")
            for stand_in, names in self._run.stand_ins(map(self._key, self._cells)).items():
                caveats.append(
                    f"{capitalised(stand_in.short)} is the stand-in for {listed(names)}; its figures say nothing about "
                    f"{listed(names)}."
                )
        elif self._run.target == "endpoint":
            caveats.append(f"These figures describe {self._run.source}, not AWS.")
        elif self._run.target != "aws":
            caveats.append("Where this ran is not on record.")
        return [
            *caveats,
            *self._failed(),
            *self._without_success(),
            *self._disturbed(),
            *sdks.several_versions(self._run),
        ]

    def _apart(self) -> str:
        """How far the medians of cells are apart that are the same to the embedded AWS and have enough measurements for
        an interval: all of that is drift."""
        ignored, alike = tuple(ignored_axes(self._run.experiment.axes)), {}
        for cell in self._cells:
            if cell["count"] >= rules.MINIMUM_FOR_INTERVAL and (median_s := cell["seconds"]["median_s"]):
                alike.setdefault(self._key(cell).without(ignored), []).append(median_s)
        apart = [max(medians) / min(medians) for medians in alike.values() if len(medians) > 1]
        if not apart:
            return ""
        cells = f"cells of {rules.MINIMUM_FOR_INTERVAL} {self._run.experiment.operation[1]} or more"
        return f": {cells} that differ in nothing else have medians up to {significant(max(apart))} × apart"

    def _failed(self) -> list[str]:
        """Where objects failed: what was copied says little about what would have been."""
        planned, failed = failed_objects(self._cells)
        if not failed:
            return []
        worst = [(cell["client"]["failed"], cell) for cell in self._cells if cell["client"]["failed"]]
        worst.sort(key=lambda pair: -pair[0])
        where = [f"{count:,} with {self._named(cell)}" for count, cell in worst]
        return [f"{failed:,} of {counted(planned, 'object')} failed: {some(where, NAMED)}."]

    def _without_success(self) -> list[str]:
        """Where messages failed, were dead-lettered or never answered: the times are those of the others."""
        sent, missing = 0, []
        for key, rows in self._planned.items():
            own = rows[0]["sent"] or 0
            sent += own
            if (lacking := own - sum(row["count"] for row in rows)) > 0:
                missing.append((lacking, f"{lacking:,} of {own:,} with {self._named_planned(key)}"))
        if not missing:
            return []
        missing.sort(key=lambda pair: -pair[0])
        where = some([words for _, words in missing], NAMED)
        total = sum(count for count, _ in missing)
        return [f"{total:,} of {counted(sent, 'message')} didn’t succeed, and the times leave them out: {where}."]

    def _disturbed(self) -> list[str]:
        """Where messages of other cells came back while a cell had its round."""
        where = []
        for key, rows in self._planned.items():
            if count := max(row.get("intruders", 0) for row in rows):
                where.append(f"{count:,} with {self._named_planned(key)}")
        return [f"Redelivered messages of other cells ran during these rounds: {some(where, NAMED)}."] if where else []

    def _repeats_differ(self) -> list[str]:
        where, resampled = [], True
        for cell in self._cells:
            ratio = cell["between_repeats"] and cell["between_repeats"]["ratio"]
            if ratio and ratio > 1 + rules.HOLDS_WITHIN:
                where.append(f"{ratio:.2f} × with {self._named(cell)}")
                resampled &= "rounds" in cell and len(cell["repeats"]) >= rules.MINIMUM_ROUNDS
        if not where:
            return []
        # Where repeats are resampled, how far they lie apart is in the intervals.
        beyond = "" if resampled else ", which the intervals may not contain"
        differ = f"The repeats differ by more than {rules.WITHIN}{beyond}"
        return [f"{differ}; highest over lowest mean: {some(where, NAMED)}."]

    def _seldom_full(self) -> list[str]:
        where, one = [], self._run.experiment.operation[0]
        for cell in self._cells:
            overlap = cell["parallelism"]
            near = overlap and overlap["share_of_download_time_nearly_full"]
            if overlap and overlap["reached_full"] and near is not None and near < ENOUGH_AT_FULL:
                where.append(f"{_percent(near)} with {self._named(cell)}")
        if not where:
            return []
        full = _percent(rules.NEARLY_FULL)
        return [f"At least {full} of N ran for half of the {one} time or less: {some(where, NAMED)}."]

    def _pooled(self) -> list[str]:
        sentences = []
        axes = listed([axis.label for axis in self._run.experiment.axes])
        for cell in self._cells:
            ids = sorted({repeat["cell"] for repeat in cell["repeats"] if repeat["repeat"] is None})
            if len(ids) > 1:
                sentences.append(
                    f"{self._named(cell)} pools cells that differ in something other than {axes}: {some(ids, NAMED)}."
                )
        return sentences

    def _otherwise_inside(self, of_n: Sequence[Figures]) -> list[str]:
        """Where it matters whether only what lies inside the full-overlap window counts."""
        (_, many), worker = self._run.experiment.operation, self._run.experiment.worker[0]
        where = []
        for row in of_n:
            inside = row["inside_window"]
            if inside["level"] not in ("cant_tell", row["all"]["level"]):
                where.append(
                    f"{took_words(inside['ratio_of_medians'])} as long with {self._named(row)} as with "
                    f"{self._named(row['base'])}, so {conclusion(inside, worker)}"
                )
        return [f"Counting only {many} within full overlap, the median took {some(where, NAMED)}."] if where else []

    def _named(self, cell: Figures) -> str:
        return self._key(cell).words_without((), self._named_axes)

    def _named_planned(self, key: Cell) -> str:
        return key.words_without((), self._axes_of_planned)

    def _key(self, cell: Figures) -> Cell:
        return Cell.of_figures(self._run.experiment.axes, cell)


def _percent(share: float) -> str:
    return "less than 1 %" if 0 < share < 0.01 else f"{100 * share:.0f} %"
