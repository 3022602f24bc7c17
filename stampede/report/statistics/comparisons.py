"""Cells against each other, as the experiment declares it: those that differ in one axis, or in one choice, alone."""

import math
from collections.abc import Sequence
from typing import Any

from experiments import Experiment
from stampede.experiment.declaration import Compare, is_of_n
from stampede.report.statistics import families, rules
from stampede.report.statistics.cell_figures import Measured
from stampede.report.statistics.effect import effect
from stampede.report.statistics.rounds import shared
from stampede.runs.cell_key import STAND_IN, Key, distinguishing, ignored_axes, is_query
from stampede.runs.spread import quantile

STAND_IN_RAN = "a stand-in ran, so this says nothing about what it replaces"
SIZES_DIFFER = "the amounts transferred differ, or aren’t known"


def comparisons(cells: Sequence[Measured], experiment: Experiment) -> dict[str, list[dict[str, Any]]]:
    """Every comparison of `experiment` by its name, sorted by key.

    On a scale the base is the smallest planned or seen, even when nothing was measured there: another one in its place
    would answer another question. A choice stands here only where something was chosen. `together` is among how many
    comparisons the intervals of a row hold at once.
    """
    found, among = {}, families.sizes(cells, experiment)
    for compare in sorted(experiment.compare, key=lambda one: one.kind, reverse=True):
        if (rows := _rows(cells, compare, experiment, among[compare.name])) or compare.kind == "scale":
            found[compare.name] = rows
    return found


def _rows(cells: Sequence[Measured], compare: Compare, experiment: Experiment, among: int) -> list[dict[str, Any]]:
    group_of = {one.key: group for group in families.groups(cells, compare) for one in group}
    sentences = _Sentences(experiment, compare, distinguishing(cell.key for cell in cells))
    is_n = is_of_n(experiment, compare)
    rows = []
    for cell in sorted(cells, key=lambda one: one.key):
        group = group_of[cell.key]
        base = _base(group, compare)
        if cell is base:
            continue
        row = _compared(cell, base, sentences, among)
        if is_n:
            row |= _throughputs(cell, base)
        if compare.kind == "choice":
            row["against_fastest"] = _against_fastest(cell, group, experiment, among)
        rows.append(row)
    return rows


def _base(group: Sequence[Measured], compare: Compare) -> Measured:
    declared = (cell for cell in group if tuple(cell.key[name] for name in compare.axes) == compare.base)
    return next(declared, group[0])


def _against_fastest(
    cell: Measured, group: Sequence[Measured], experiment: Experiment, among: int
) -> dict[str, Any] | None:
    """The ratio of medians against the cell with the smallest one, and its level; None for that cell itself, and for
    one as fast."""
    timed = [one for one in group if len(one.everything)]
    fastest = min(timed, key=_median, default=cell)
    if cell is fastest or (len(cell.everything) and _median(cell) == _median(fastest)):
        return None
    found = effect(cell.everything, fastest.everything, among)
    if found["why"] is None and not _same_size(cell, fastest, experiment):
        found |= {"ratio_of_medians": None, "level": "cant_tell", "why": SIZES_DIFFER}
    return {name: found[name] for name in ("ratio_of_medians", "level", "why")}


def _median(cell: Measured) -> float:
    return quantile(cell.everything.values.tolist(), 0.5)


def _same_size(cell: Measured, base: Measured, experiment: Experiment) -> bool:
    """Whether both moved the same; a query moves nothing to its worker: its cell says over what it was asked."""
    told = cell.object_bytes is not None or is_query(cell.key, experiment)
    return told and cell.object_bytes == base.object_bytes


def _throughputs(cell: Measured, base: Measured) -> dict[str, Any]:
    ours, theirs = cell.figures["parallelism"], base.figures["parallelism"]
    factor = cell.key.n / base.key.n
    return {
        "throughput": _throughput(_speed(ours), _speed(theirs), factor),
        "throughput_in_window": _throughput(
            _speed(ours and ours["window"]), _speed(theirs and theirs["window"]), factor
        ),
    }


def _compared(cell: Measured, base: Measured, sentences: "_Sentences", among: int) -> dict[str, Any]:
    same_size = _same_size(cell, base, sentences.experiment)
    result: dict[str, Any] = cell.key.figures() | {"base": base.key.figures(), "together": among}
    for name in ("all", "inside_window"):
        attribute = "everything" if name == "all" else "inside"
        found = effect(getattr(cell, attribute), getattr(base, attribute), among)
        if found["why"] is None and not same_size:
            found |= {"level": "cant_tell", "why": SIZES_DIFFER}
        if found["why"] is None and sentences.is_of_stand_in(cell.key, base.key):
            found |= {"level": "cant_tell", "why": STAND_IN_RAN}
        result[name] = found | {"words": sentences.of(cell.key, base.key, found)}
    result |= shared(cell.everything, base.everything)
    return result


def _speed(part: dict[str, Any] | None) -> float | None:
    return part["mbit_per_s"] if part else None


def _throughput(ours: float | None, base: float | None, factor: float) -> dict[str, float | None]:
    """Aggregate Mbit/s against N / base N times the base's."""
    ideal = base * factor if base is not None else None
    return {
        "mbit_per_s": ours,
        "ideal_mbit_per_s": ideal,
        "share_of_ideal": ours / ideal if ours is not None and ideal else None,
    }


class _Sentences:
    """Sentences about one cell against its base."""

    def __init__(self, experiment: Experiment, compare: Compare, told: frozenset[str]) -> None:
        self.experiment = experiment
        self._one, self._worker = experiment.operation[0], experiment.worker[0]
        self._compare, self._told = compare, told
        self._ignored = ignored_axes(experiment.axes).get(compare.axes[0], "")
        self._is_n = is_of_n(experiment, compare)
        self._label = next((axis.label for axis in experiment.axes if axis.name == compare.axes[0]), "")

    def of(self, key: Key, base: Key, found: dict[str, Any]) -> str:
        """The effect in one sentence."""
        place = key.words_without(self._compare.axes, self._told)
        ours, theirs = (one.words_of(self._compare.axes) for one in (key, base))
        if self._ignored:
            says = f"the embedded AWS ignores {self._ignored}, so this says nothing about it"
            return f"{ours} against {theirs} ({place}): {says}."
        if found["level"] == "cant_tell":
            return f"{ours} against {theirs} ({place}): unknown; {found['why']}."
        took = took_words(found["ratio_of_medians"])
        return (
            f"{ours} against {theirs} ({place}): the median {self._one} took {took} as long{self._conclusion(found)}."
        )

    def is_of_stand_in(self, key: Key, base: Key) -> bool:
        """Whether one of what was chosen from was a stand-in, of which nothing is claimed."""
        return any(STAND_IN in one.words_of(self._compare.axes) for one in (key, base))

    def _conclusion(self, found: dict[str, Any]) -> str:
        if self._is_n:
            return f", so {conclusion(found, self._worker)}"
        if found["level"] == "holds":
            return f" (no difference of more than {_within()})"
        if found["level"] not in ("slower", "faster"):
            unclear = _unclear(found["ratio_of_medians"], "", "slower", "faster", "too close to call")
            return f" ({unclear})"
        return f" ({found['level']})"


def took_words(ratio: dict[str, float]) -> str:
    """The interval of a ratio for reading, rounded outwards: `1.02 to 1.05 ×`."""
    digits = 2 if ratio["high"] < 10 else 1
    low, high = _down(ratio["low"], digits), _up(ratio["high"], digits)
    return f"{low} ×" if low == high else f"{low} to {high} ×"


def conclusion(found: dict[str, Any], worker: str) -> str:
    """What the level of an effect means for the throughput of one `worker`."""
    ratio = found["ratio_of_medians"]
    low, high = 1 / ratio["high"], 1 / ratio["low"]
    if found["level"] == "holds":
        return f"throughput per {worker} holds within {_within()}"
    if found["level"] == "slower":
        return f"throughput per {worker} falls to {_about(low, high)}"
    if found["level"] == "faster":
        return f"throughput per {worker} rises to {_between(low, high)}"
    throughput = f"throughput per {worker} "
    return _unclear(ratio, throughput, "falls", "rises", f"it is too close to call whether {throughput}holds")


def _unclear(ratio: dict[str, float], what: str, slower: str, faster: str, neither: str) -> str:
    within = _within()
    if ratio["low"] > 1:
        return f"{what}{slower}, possibly by less than {within}"
    if ratio["high"] < 1:
        return f"{what}{faster}, possibly by less than {within}"
    return f"{neither} within {within}"


def _within() -> str:
    return f"{rules.HOLDS_WITHIN:.0%}".replace("%", " %")


def share_words(low: float, high: float) -> str:
    """Shares (1 = all) for reading, rounded outwards: `32 to 35 %`."""
    digits = 0 if low >= 0.1 else 1
    least, most = _down(100 * low, digits), _up(100 * high, digits)
    return f"{least} %" if least == most else f"{least} to {most} %"


def _between(low: float, high: float) -> str:
    words = share_words(low, high)
    return f"between {words.replace(' to ', ' and ')}" if " to " in words else words


def _about(low: float, high: float) -> str:
    """`about a third (32 to 35 %)` when a simple fraction lies in the interval, and the interval is narrow enough for
    it; else `between 71 and 87 %`."""
    for share, words in ((3 / 4, "three quarters"), (2 / 3, "two thirds"), (1 / 2, "half"), (1 / 3, "a third"),
                         (1 / 4, "a quarter"), (1 / 5, "a fifth"), (1 / 10, "a tenth")):  # fmt: skip
        if low <= share * 1.02 and high >= share * 0.98 and high <= 1.15 * low:
            return f"about {words} ({share_words(low, high)})"
    return _between(low, high)


def _down(value: float, digits: int) -> str:
    # A hair of tolerance: 1.1 must not become 1.09 because it is 1.0999999999999999.
    return f"{math.floor(value * 10**digits + 1e-9) / 10**digits:.{digits}f}"


def _up(value: float, digits: int) -> str:
    return f"{math.ceil(value * 10**digits - 1e-9) / 10**digits:.{digits}f}"
