"""The answer in words: the headline, whether N was reached, and what must be said with both."""

from collections.abc import Mapping, Sequence
from typing import Any

from stampede.experiment.declaration import is_of_n, n_axis
from stampede.phrases import capitalised, listed, some
from stampede.report import sdks
from stampede.report.statistics import drift, rules
from stampede.report.statistics.comparisons import conclusion, took_words
from stampede.report.statistics.headline import failed_objects, headline
from stampede.report.statistics.knee import Series
from stampede.report.statistics.prediction import misses
from stampede.runs.cell_key import Key, distinguishing
from stampede.runs.evidence import contradictions
from stampede.runs.run import Run

Figures = Mapping[str, Any]

# Below this share of the time at full N, figures "at N" are mostly figures of less.
ENOUGH_AT_FULL = 0.5
# A sentence that names more than this is not read to its end.
NAMED = 3


def verdict(
    run: Run,
    cells: Sequence[Figures],
    comparisons: Mapping[str, Sequence[Figures]],
    predicted: Figures | None,
    by_size: Sequence[Figures] = (),
    knees: Sequence[Series] = (),
) -> dict[str, Any]:
    """Level, headline, whether throughput per worker holds as N grows, for all else that was swept one by one,
    whether N was reached, and what must be said with it.

    `cells`, `comparisons`, `predicted` and `by_size` are those of statistics.json.
    """
    against = next((comparisons[one.name] for one in run.experiment.compare if is_of_n(run.experiment, one)), [])
    per_place = _per_place(run, cells, against)
    levels = {one["level"] for one in per_place}
    level = levels.pop() if len(levels) == 1 else "mixed" if levels else "cant_tell"
    words = _Words(run, cells)
    # What compares cells, and isn't unknown.
    compared = [row for rows in comparisons.values() for row in rows if row["all"]["level"] != "cant_tell"]
    compared += [point for one in by_size for point in one["points"] if point["speedup"]["low"] is not None]
    compared += [series.figures() for series in knees]
    return {
        "level": level,
        "headline": headline(run, cells, comparisons, by_size, [series.claim() for series in knees]),
        "per_memory": per_place,
        "reached": words.reached(),
        "caveats": words.caveats(against, predicted, compared),
    }


def _per_place(run: Run, cells: Sequence[Figures], against: Sequence[Figures]) -> list[dict[str, Any]]:
    """The largest N against the smallest, for each combination of whatever else was swept."""
    name_of_n = n_axis(run.experiment.axes)
    keys = [Key.of_figures(run.experiment.axes, cell) for cell in cells]
    told = distinguishing(keys)
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for key in keys:
        named = key.words_without((name_of_n,), told)
        place = {name: value for name, value in key.figures().items() if name != name_of_n}
        words = f"{named}: only {key.value_words(name_of_n)} ran, so the effect of N is unknown."
        found.setdefault(key.without((name_of_n,)), place | {"level": "cant_tell", "words": words, "holds_up_to": None})
    still_holds = dict.fromkeys(found, True)
    for one in against:
        place = Key.of_figures(run.experiment.axes, one).without((name_of_n,))
        still_holds[place] &= one["all"]["level"] == "holds"
        found[place] |= {"level": one["all"]["level"], "words": one["all"]["words"]}
        if still_holds[place]:
            found[place]["holds_up_to"] = one[name_of_n]
    return list(found.values())


class _Words:
    """Sentences about the cells of a run."""

    def __init__(self, run: Run, cells: Sequence[Figures]) -> None:
        self._run, self._cells = run, cells
        self._one, self._many = run.experiment.operation
        self._told = distinguishing(map(self._key, cells))

    def reached(self) -> str:
        """Whether N really ran at once, cell by cell where it didn't."""
        timed = [cell for cell in self._cells if cell["parallelism"]]
        if not timed:
            return "The peak concurrency is unknown: no record has its start and end times."
        short, partly, over = [], [], []
        for cell in timed:
            found, named = cell["parallelism"], self._named(cell)
            n = self._key(cell).n
            if found["most_at_once"] < n:
                short.append(f"{found['most_at_once']:,} of {n:,} with {named}")
            elif found["most_at_once"] > n:
                over.append(f"{found['most_at_once']:,} with {named}")
            floods = found.get("rounds", found["repeats"])
            if 0 < found["reached_full"] < floods:
                of = "rounds" if "rounds" in found else "repeats"
                partly.append(f"in {found['reached_full']} of {floods} {of} with {named}")
        sentences = [
            f"{begins}: {some(cells, NAMED)}."
            for begins, cells in (
                ("Not every cell reached its N; peak concurrency", short),
                ("N wasn’t reached every time", partly),
                ("More than N ran at once", over),
            )
            if cells
        ]
        if not sentences:
            everywhere = "Every cell" if len(timed) == len(self._cells) else "Every cell with records"
            sentences.append(f"{everywhere} reached its N.")
        return " ".join(sentences)

    def caveats(self, against: Sequence[Figures], predicted: Figures | None, compared: Sequence[Figures]) -> list[str]:
        """What must be said with the figures, the weightiest first; `compared` are rows of which something is said."""
        found = contradictions(self._run.directory)
        if self._run.target == "local":
            ignored = f"; {self._run.without_effect}" if self._run.without_effect else ""
            found.append(f"These figures describe this machine and its emulator, not AWS{ignored}.")
            for one, names in self._run.stand_ins(map(self._key, self._cells)).items():
                found.append(
                    f"{capitalised(one.short)} is the stand-in for {listed(names)}; its figures say nothing about "
                    f"{listed(names)}."
                )
        elif self._run.target == "endpoint":
            found.append(f"These figures describe {self._run.source}, not AWS.")
        elif self._run.target != "aws":
            found.append("Where this ran is not on record.")
        found += [*self._failed(), *self._disturbed(), *sdks.several_versions(self._run)]
        found += [*self._apart(), *self._seldom_full()]
        if missed := misses(predicted, self._run.experiment):
            found.append(f"The prediction missed by more than its stated uncertainty: {some(missed, NAMED, '; ')}.")
        found += [*self._pooled(), *self._otherwise_inside(against)]
        if any(cell["count"] for cell in self._cells):
            left_out = rules.independence(self._run.experiment, self._cells)
            found.append(f"{left_out} {drift.sentence(compared, self._cells)}".rstrip())
        return found

    def _failed(self) -> list[str]:
        """Where objects failed: what was copied says little about what would have been."""
        planned, failed = failed_objects(self._cells)
        if not failed:
            return []
        worst = sorted(
            (cell for cell in self._cells if cell["client"]["failed"]), key=lambda one: -one["client"]["failed"]
        )
        where = [f"{cell['client']['failed']:,} with {self._named(cell)}" for cell in worst]
        return [f"{failed:,} of {planned:,} objects failed: {some(where, NAMED, '; ')}."]

    def _disturbed(self) -> list[str]:
        """Where messages of other cells came back while a cell had its round."""
        found = [f"{cell['intruders']:,} with {self._named(cell)}" for cell in self._cells if cell.get("intruders")]
        return [f"Redelivered messages of other cells ran during its rounds: {some(found, NAMED)}."] if found else []

    def _apart(self) -> list[str]:
        apart = [
            f"{cell['between_repeats']['ratio']:.2f} × with {self._named(cell)}"
            for cell in self._cells
            if cell["between_repeats"] and (cell["between_repeats"]["ratio"] or 0) > 1 + rules.HOLDS_WITHIN
        ]
        if not apart:
            return []
        return [f"The repeats differ more than the intervals show; highest over lowest mean: {some(apart, NAMED)}."]

    def _seldom_full(self) -> list[str]:
        seldom = []
        for cell in self._cells:
            overlap = cell["parallelism"]
            near = overlap and overlap["share_of_download_time_nearly_full"]
            if overlap and overlap["reached_full"] and near is not None and near < ENOUGH_AT_FULL:
                seldom.append(f"{_percent(near)} with {self._named(cell)}")
        if not seldom:
            return []
        full = _percent(rules.NEARLY_FULL)
        return [f"At least {full} of N ran for only a small share of the {self._one} time: {some(seldom, NAMED)}."]

    def _pooled(self) -> list[str]:
        found = []
        for cell in self._cells:
            ids = sorted({one["cell"] for one in cell["repeats"] if one["repeat"] is None})
            if len(ids) > 1:
                axes = listed([axis.label for axis in self._run.experiment.axes])
                found.append(
                    f"{self._named(cell)} pools cells that differ in something other than {axes}: {some(ids, NAMED)}."
                )
        return found

    def _otherwise_inside(self, against: Sequence[Figures]) -> list[str]:
        """Where it matters whether only what lies inside the full-overlap window counts."""
        found = [
            f"{took_words(one['inside_window']['ratio_of_medians'])} as long with {self._named(one)} as with "
            f"{self._named(one['base'])}, so {conclusion(one['inside_window'], self._run.experiment.worker[0])}"
            for one in against
            if one["inside_window"]["level"] not in ("cant_tell", one["all"]["level"])
        ]
        if not found:
            return []
        return [f"Counting only {self._many} within full overlap, the median took {some(found, NAMED, '; ')}."]

    def _named(self, cell: Figures) -> str:
        return self._key(cell).words_without((), self._told)

    def _key(self, cell: Figures) -> Key:
        return Key.of_figures(self._run.experiment.axes, cell)


def _percent(share: float) -> str:
    return "less than 1 %" if 0 < share < 0.01 else f"{100 * share:.0f} %"
