"""Cells against each other, as the experiment declares it: those that differ in one axis, or in one choice, alone."""

from collections.abc import Mapping, Sequence
from typing import Any

from experiments import Experiment
from stampede.cell import Cell, distinguishing, ignored_axes, is_query
from stampede.experiment import Compare, is_of_n
from stampede.phrases import ratio_ends, rounded_down, rounded_up
from stampede.report.statistics import families, rules
from stampede.report.statistics.cell_figures import Measured
from stampede.report.statistics.effect import effect
from stampede.report.statistics.rounds import shared

STAND_IN_RAN = "a stand-in ran, so this says nothing about what it replaces"
SIZES_DIFFER = "the amounts transferred differ, or aren’t known"
BY_LESS = f"possibly by less than {rules.WITHIN}"
BETWEEN = "between {} and {} %"
FRACTIONS = {
    3 / 4: "three quarters",
    2 / 3: "two thirds",
    1 / 2: "half",
    1 / 3: "a third",
    1 / 4: "a quarter",
    1 / 5: "a fifth",
    1 / 10: "a tenth",
}


def comparisons(cells: Sequence[Measured], experiment: Experiment) -> dict[str, list[dict[str, Any]]]:
    """Every comparison of `experiment` by its name, sorted by key.

    On a scale the base is the smallest planned or seen, even when nothing was measured there: another one in its place
    would answer another question. A choice stands here only where something was chosen. `together` is among how many
    comparisons the intervals of a row hold at once.
    """
    tables, among = {}, families.sizes(cells, experiment)
    for compare in sorted(experiment.compare, key=lambda one: one.kind, reverse=True):
        if (rows := _rows(cells, compare, experiment, among[compare.name])) or compare.kind == "scale":
            tables[compare.name] = rows
    return tables


def _rows(cells: Sequence[Measured], compare: Compare, experiment: Experiment, among: int) -> list[dict[str, Any]]:
    named_axes = distinguishing(cell.key for cell in cells)
    rows = {}
    for group in families.groups(cells, compare):
        declared = (cell for cell in group if tuple(cell.key[name] for name in compare.axes) == compare.base)
        base = next(declared, group[0])
        for cell in group:
            if cell is base:
                continue
            row = _row(cell, base, compare, experiment, among, named_axes)
            if is_of_n(experiment, compare):
                row |= _throughputs(cell, base)
            if compare.kind == "choice":
                row["against_fastest"] = _against_fastest(cell, group, experiment, among)
            rows[cell.key] = row
    return [rows[key] for key in sorted(rows)]


def _row(
    cell: Measured, base: Measured, compare: Compare, experiment: Experiment, among: int, named_axes: frozenset[str]
) -> dict[str, Any]:
    row: dict[str, Any] = cell.key.figures() | {"base": base.key.figures(), "together": among}
    samples = {"all": (cell.everything, base.everything), "inside_window": (cell.inside, base.inside)}
    for name, (ours, theirs) in samples.items():
        difference = effect(ours, theirs, among)
        if difference["why"] is None and not same_size(cell, base, experiment):
            difference |= {"level": "cant_tell", "why": SIZES_DIFFER}
        if difference["why"] is None and any(key.is_of_stand_in(compare.axes) for key in (cell.key, base.key)):
            difference |= {"level": "cant_tell", "why": STAND_IN_RAN}
        row[name] = difference | {"words": _words(difference, cell.key, base.key, compare, experiment, named_axes)}
    return row | shared(cell.everything, base.everything)


def _against_fastest(
    cell: Measured, group: Sequence[Measured], experiment: Experiment, among: int
) -> dict[str, Any] | None:
    """The ratio of medians against the cell with the smallest one, and its level; None for that cell itself, and for
    one as fast."""
    timed = (other for other in group if len(other.everything))
    fastest = min(timed, key=lambda other: other.everything.median, default=cell)
    if cell is fastest or (len(cell.everything) and cell.everything.median == fastest.everything.median):
        return None
    difference = effect(cell.everything, fastest.everything, among)
    if difference["why"] is None and not same_size(cell, fastest, experiment):
        difference |= {"ratio_of_medians": None, "level": "cant_tell", "why": SIZES_DIFFER}
    return {name: difference[name] for name in ("ratio_of_medians", "level", "why")}


def same_size(cell: Measured, base: Measured, experiment: Experiment) -> bool:
    """Whether both moved the same; a query moves nothing to its worker: its cell says over what it was asked."""
    is_known = cell.object_bytes is not None or is_query(cell.key, experiment)
    return is_known and cell.object_bytes == base.object_bytes


def _throughputs(cell: Measured, base: Measured) -> dict[str, Any]:
    """Aggregate Mbit/s against N / base N times the base's, and the same inside full overlap."""
    ours, theirs = cell.figures["parallelism"], base.figures["parallelism"]
    pairs = {
        "throughput": (ours, theirs),
        "throughput_in_window": (ours and ours["window"], theirs and theirs["window"]),
    }
    figures = {}
    for name, pair in pairs.items():
        own, of_base = (part["mbit_per_s"] if part else None for part in pair)
        ideal = None if of_base is None else of_base * (cell.key.n / base.key.n)
        share = own / ideal if own is not None and ideal else None
        figures[name] = {"mbit_per_s": own, "ideal_mbit_per_s": ideal, "share_of_ideal": share}
    return figures


def _words(
    difference: Mapping[str, Any],
    key: Cell,
    base: Cell,
    compare: Compare,
    experiment: Experiment,
    named_axes: frozenset[str],
) -> str:
    """The effect of one cell against its base in a sentence."""
    ours, theirs = (side.words_of(compare.axes) for side in (key, base))
    pair = f"{ours} against {theirs} ({key.words_without(compare.axes, named_axes)})"
    if ignored := ignored_axes(experiment.axes).get(compare.axes[0]):
        return f"{pair}: the embedded AWS ignores {ignored}, so this says nothing about it."
    if difference["level"] == "cant_tell":
        return f"{pair}: unknown; {difference['why']}."
    ratio, operation = difference["ratio_of_medians"], experiment.operation[0]
    if is_of_n(experiment, compare):
        result = f", so {conclusion(difference, experiment.worker[0])}"
    elif difference["level"] == "holds":
        result = f" (no difference of more than {rules.WITHIN})"
    elif difference["level"] != "unclear":
        result = f" ({difference['level']})"
    elif ratio["low"] > 1 or ratio["high"] < 1:
        result = f" ({'slower' if ratio['low'] > 1 else 'faster'}, {BY_LESS})"
    else:
        result = f" (too close to call within {rules.WITHIN})"
    return f"{pair}: the median {operation} took {took_words(ratio)} as long{result}."


def took_words(ratio: Mapping[str, float]) -> str:
    """The interval of a ratio for reading, as the tables have it: `1.02 to 1.05 ×`."""
    low, high = ratio_ends(ratio)
    return f"{low} ×" if low == high else f"{low} to {high} ×"


def conclusion(difference: Mapping[str, Any], worker: str, ends: str = "") -> str:
    """What the level of an effect means for the throughput of one `worker`, as a clause; `ends` are those that it
    compares, as `from N = 1 to N = 10`."""
    ratio, throughput = difference["ratio_of_medians"], f"median throughput per {worker}"
    low, high, ends = 1 / ratio["high"], 1 / ratio["low"], f" {ends}" if ends else ""
    if difference["level"] == "holds":
        return f"{throughput} holds within {rules.WITHIN}{ends}"
    if difference["level"] == "slower":
        return f"{throughput} falls to {_about(low, high)}{ends}"
    if difference["level"] == "faster":
        return f"{throughput} rises to {share_words(low, high, BETWEEN)}{ends}"
    if ratio["low"] > 1 or ratio["high"] < 1:
        return f"{throughput} {'falls' if ratio['low'] > 1 else 'rises'}, {BY_LESS}" + (f",{ends}" if ends else "")
    return f"it is too close to call whether {throughput} holds within {rules.WITHIN}{ends}"


def share_words(low: float, high: float, pattern: str = "{} to {} %") -> str:
    """Shares (1 = all) for reading, rounded outwards: `32 to 35 %`."""
    # Each end by its own size: the same end reads alike in every sentence of a page.
    least, most = rounded_down(100 * low, 0 if low >= 0.1 else 1), rounded_up(100 * high, 0 if high >= 0.1 else 1)
    return f"{least} %" if least == most else pattern.format(least, most)


def _about(low: float, high: float) -> str:
    """`about a third (32 to 35 %)` when a simple fraction lies in the interval, and the interval is narrow enough for
    it; else `between 71 and 87 %`."""
    for share, words in FRACTIONS.items():
        if low <= share * 1.02 and high >= share * 0.98 and high <= 1.15 * low:
            return f"about {words} ({share_words(low, high)})"
    return share_words(low, high, BETWEEN)
