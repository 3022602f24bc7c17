"""Which variant is the fastest, for the headline: where the most functions ran at once, and on what it depends."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stampede.cell import Cell, distinguishing, ignored_axes
from stampede.experiment import Compare, Experiment
from stampede.phrases import capitalised, counted, listed, ratios, some
from stampede.report.statistics.comparisons import took_words
from stampede.report.statistics.drift import between_cells
from stampede.report.statistics.rules import MINIMUM_ROUNDS

Figures = Mapping[str, Any]
# More variants that are too close to call aren't all named.
MOST_NAMED = 3


@dataclass(frozen=True)
class Place:
    """The cells that differ in the variant alone: `rows` compares those with enough measurements with `base`, and `why`
    is why the others aren't. `by_median` has the base and these, the fastest first; `of_cells` is whether planned cells
    are compared, and not parts of one."""

    base: Cell
    rows: Mapping[Cell, Figures]
    by_median: Sequence[Cell]
    why: str | None
    of_cells: bool

    @property
    def fastest(self) -> Cell:
        return self.by_median[0]

    @property
    def doubt(self) -> str:
        """That drift isn't in the intervals of cells that ran one after the other, as a clause; else empty."""
        in_turn = self.of_cells and any(row.get("rounds") is None for row in self.rows.values())
        return f"; this may be drift (--repeats {MINIMUM_ROUNDS})" if in_turn else ""

    @property
    def close(self) -> list[Cell]:
        """The variants, but for the base, that are too close to the fastest to call."""
        return [
            key
            for key in self.by_median
            if key not in (self.base, self.fastest) and not _is_behind(self.rows[key]["against_fastest"])
        ]

    @property
    def winner(self) -> Cell | None:
        """The variant that is clearly the fastest; None where there is none."""
        if not self.rows or self.close:
            return None
        if self.fastest != self.base and self.rows[self.fastest]["all"]["ratio_of_medians"]["high"] >= 1:
            return None
        return self.fastest


def ranking(
    where: str, cells: Mapping[Cell, Figures], rows: Sequence[Figures], compare: Compare, experiment: Experiment
) -> list[str]:
    """The versions of the headline about the variants of `compare`, the fullest first; `rows` is what statistics.json
    has of it, `cells` all its cells, and `where` begins the sentence."""
    places = _places(cells, rows, compare, experiment)
    winners = [place.winner and place.winner.words_of(compare.axes) for place in places]
    if len(set(winners) - {None}) > 1:
        return _dependence(where, places, winners, compare, experiment)
    measured = next((place for place in places if place.rows), places[0])
    return _at_one_place(where, cells, measured, compare, experiment)


def _places(
    cells: Mapping[Cell, Figures], rows: Sequence[Figures], compare: Compare, experiment: Experiment
) -> list[Place]:
    """The places at the largest N at which variants were measured."""
    keys = [Cell.of_figures(experiment.axes, row) for row in rows]
    most = max(key.n for key in keys)
    groups: dict[tuple[Any, ...], list[tuple[Cell, Figures]]] = {}
    for key, row in zip(keys, rows, strict=True):
        if key.n == most:
            groups.setdefault(key.without(compare.axes), []).append((key, row))
    places = []
    for group in groups.values():
        _, first = group[0]
        base = Cell.of_figures(experiment.axes, first["base"])
        measured = {key: row for key, row in group if row["all"]["level"] != "cant_tell"}
        by_median = [base, *measured]
        if measured:
            by_median.sort(key=lambda key: cells[key]["seconds"]["median_s"])
        places.append(Place(base, measured, by_median, first["all"]["why"], between_cells(compare, experiment)))
    return places


def _at_one_place(
    where: str, cells: Mapping[Cell, Figures], place: Place, compare: Compare, experiment: Experiment
) -> list[str]:
    label = next(axis.label for axis in experiment.axes if axis.name == compare.axes[0])
    here = place.base.words_without(compare.axes, distinguishing(cells))
    base = place.base.words_of(compare.axes)
    if not place.rows:
        return [
            f"Which {label} is the fastest with {here} is unknown: {place.why}.",
            f"Which {label} is the fastest is unknown: {place.why}.",
        ]
    is_base = place.fastest == place.base
    other = place.by_median[1] if is_base else place.fastest
    name, ratio = other.words_of(compare.axes), place.rows[other]["all"]["ratio_of_medians"]
    if ratio["low"] <= 1 and (is_base or ratio["high"] >= 1):
        claim = f"no {label} is clearly faster than {base}"
        took = f"the median of {name} takes {took_words(ratio)} as long"
        return [
            f"{where}, {claim} with {here}: {took}.",
            f"{capitalised(claim)} with {here}: {took}.",
            f"{capitalised(claim)}: {took}.",
            f"{capitalised(claim)}.",
        ]
    if is_base:
        claim, took = f"{base} is the fastest with {here}; {name} comes next", took_words(ratio)
        return [
            f"{where}, {claim}: its median {experiment.operation[0]} takes {took} as long{place.doubt}.",
            f"{claim}: {took} as long{place.doubt}.",
            f"{base} is the fastest; {name} comes next, {took}{place.doubt}.",
        ]
    return _of_fastest(where, cells, place, here, compare, experiment)


def _of_fastest(
    where: str, cells: Mapping[Cell, Figures], place: Place, here: str, compare: Compare, experiment: Experiment
) -> list[str]:
    """A variant is faster than the base; whether it is the fastest may be too close to call."""
    name, base = place.fastest.words_of(compare.axes), place.base.words_of(compare.axes)
    ratio = place.rows[place.fastest]["all"]["ratio_of_medians"]
    span = ratios({"low": 1 / ratio["high"], "high": 1 / ratio["low"]})
    speedup = f"{1 / ratio['value']:,.2f} × ({span}) as fast as {base}"
    cost = _cost(cells[place.fastest], cells[place.base], experiment)
    start, short = f"{name} is the fastest with {here}", f"{name} is the fastest"
    if place.close:
        # Between it and one that is too close may be others that aren't, so all of these aren't called the fastest.
        close = some([key.words_of(compare.axes) for key in place.close], MOST_NAMED - 1)
        start = f"{name} has the smallest median with {here}, too close to call against {close}"
        short = f"{name} has the smallest median, too close to call against {counted(len(place.close), 'other')}"
    return [
        f"{where}, {start}: {speedup}{cost}{place.doubt}.",
        f"{start}: {speedup}{cost}{place.doubt}.",
        f"{start}: {speedup}{place.doubt}.",
        f"{short}: {speedup}{place.doubt}.",
    ]


def _cost(fastest: Figures, base: Figures, experiment: Experiment) -> str:
    """What the fastest took of the function for the same bytes, as a clause; empty where no record has it."""
    for metric in experiment.metrics:
        if metric.how == "per_gib":
            ours, theirs = fastest["client"][metric.name], base["client"][metric.name]
            if ours and theirs:
                is_alike = 0.95 <= ours / theirs <= 1.05
                return f", with {'about the same' if is_alike else f'{ours / theirs:.2g} × its'} {metric.label}"
    return ""


def _dependence(
    where: str, places: Sequence[Place], winners: Sequence[str | None], compare: Compare, experiment: Experiment
) -> list[str]:
    """Different variants are the fastest at different places: what these differ in, and how often which one wins."""
    bases = [place.base for place in places]
    ignored = ignored_axes(experiment.axes)
    alike = {*compare.axes, *ignored}
    differing = [
        axis.label
        for axis in experiment.axes
        if axis.name not in alike
        and len({base[axis.name] for base in bases}) > 1
        and _winner_varies(bases, winners, {*alike, axis.name})
    ]
    depends = f"depends on {listed(differing) or 'what else was swept'}"
    if _winner_varies(bases, winners, alike):
        depends = "varies between cells that ran alike"
    label = next(axis.label for axis in experiment.axes if axis.name == compare.axes[0])
    claim = f"which {label} is the fastest {depends}"
    (first, count), *rest = Counter(filter(None, winners)).most_common()
    cases = listed([f"{first} in {count} of {len(places)} cases", *(f"{name} in {times}" for name, times in rest)])
    few = sum(not place.rows for place in places)
    close = winners.count(None) - few
    cases += f"; too close to call in {close}" if close else ""
    cases += f"; too few measurements in {few}" if few else ""
    return [f"{where}, {claim}: {cases}.", f"{capitalised(claim)}: {cases}.", f"{capitalised(claim)}."]


def _winner_varies(bases: Sequence[Cell], winners: Sequence[str | None], left_out: set[str]) -> bool:
    """Whether different variants are the fastest at places that differ in `left_out` alone."""
    groups: dict[tuple[Any, ...], set[str]] = {}
    for base, winner in zip(bases, winners, strict=True):
        if winner:
            groups.setdefault(base.without(left_out), set()).add(winner)
    return any(len(group) > 1 for group in groups.values())


def _is_behind(against_fastest: Figures | None) -> bool:
    """Whether a cell is slower than the fastest beyond its interval."""
    if against_fastest is None:
        return False
    ratio = against_fastest["ratio_of_medians"]
    return ratio is None or ratio["low"] > 1
