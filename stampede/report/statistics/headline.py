"""The headline: one sentence that answers the experiment's question for this run. What was swept decides which."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from stampede.experiment.declaration import FAILED_RUN, Compare, Experiment, StandIn, is_of_n
from stampede.phrases import between, listed, quantity, speed
from stampede.report.measured import speed_of
from stampede.report.statistics.by_size import VERBS
from stampede.report.statistics.comparisons import conclusion, share_words, took_words
from stampede.runs.cell_key import Key, distinguishing, ignored_axes
from stampede.runs.run import Run

Figures = Mapping[str, Any]
# More is not read in one breath.
LONGEST = 200


def headline(run: Run, cells: Sequence[Figures], comparisons: Mapping[str, Sequence[Figures]], own: Figures) -> str:
    """At most LONGEST letters. `cells`, `comparisons` and `own`, what only such an experiment has, are those of
    statistics.json."""
    told = _Headline(run, cells)
    if not any(cell["count"] for cell in cells):
        return f"This run has no {told.one} on record, so what one {told.worker} gets is unknown."
    if failed_most(cells):
        return f"{failed_objects(cells)}, so this run says nothing about speed."
    if stand_ins := run.stand_ins(told.keys):
        return _shortest_that_fits(told.of_stand_ins(stand_ins))
    if series := own.get("knees", {}).get("series"):
        return _shortest_that_fits(told.of_knees(series))
    if series := own.get("by_size"):
        return _shortest_that_fits(told.of_sizes(series))
    if ignored := only_ignored(run, comparisons):
        return _shortest_that_fits(told.of_ignored(ignored))
    for compare in answerable(run.experiment):
        rows = comparisons.get(compare.name, ())
        measured = _measured(rows)
        if measured:
            # On a scale the largest counts even where nothing was measured: another would answer another question.
            return _shortest_that_fits(
                told.of_choice(compare, measured) if compare.kind == "choice" else told.of_scale(compare, rows)
            )
    return _shortest_that_fits(told.of_one())


def failed_most(cells: Sequence[Figures]) -> bool:
    """Whether most objects of a run that copies them failed, at least half."""
    planned, failed = _objects(cells)
    return 0 < failed >= FAILED_RUN * planned


def failed_objects(cells: Sequence[Figures]) -> str:
    """`20,000 of 60,000 objects failed`; empty where none did."""
    planned, failed = _objects(cells)
    return f"{failed:,} of {planned:,} objects failed" if failed else ""


def _objects(cells: Sequence[Figures]) -> tuple[int, int]:
    """How many objects were planned, and how many of them failed."""
    planned, failed = (sum(cell["client"].get(name) or 0 for cell in cells) for name in ("planned", "failed"))
    return planned, failed


def answerable(experiment: Experiment) -> list[Compare]:
    """The comparisons that this experiment can make where it ran: not those of what the embedded AWS ignores."""
    return [one for one in experiment.compare if one.axes[0] not in ignored_axes(experiment.axes)]


def only_ignored(run: Run, comparisons: Mapping[str, Sequence[Figures]]) -> list[str]:
    """What was swept, in words, where the embedded AWS ignores all of it; else []."""
    swept = [one for one in run.experiment.compare if _measured(comparisons.get(one.name, ()))]
    ignored = ignored_axes(run.experiment.axes)
    return [] if set(swept) & set(answerable(run.experiment)) else [ignored[one.axes[0]] for one in swept]


def _measured(rows: Sequence[Figures]) -> list[Figures]:
    return [one for one in rows if one["all"]["count"]]


def _shortest_that_fits(versions: Sequence[str]) -> str:
    """The first, and so the fullest, version that isn't too long."""
    return next((version for version in versions if len(version) <= LONGEST), versions[-1][: LONGEST - 1] + "…")


class _Headline:
    """The versions of a run's headline, the fullest first."""

    def __init__(self, run: Run, cells: Sequence[Figures]) -> None:
        self._experiment, self._axes, self._metrics = run.experiment, run.experiment.axes, run.experiment.metrics
        self._cells = {self._key(cell): cell for cell in cells}
        self._told = distinguishing(self._cells)
        self._speed = run.experiment.speed
        self.one, self.many = run.experiment.operation
        self.worker, _ = run.experiment.worker
        self._is_n = lambda compare: is_of_n(run.experiment, compare)
        self._where = {"local": "On this machine", "unknown": "On an unknown target"}.get(
            run.target, f"On {run.source}"
        )
        self.keys = list(self._cells)

    def of_stand_ins(self, stand_ins: Mapping[StandIn, Sequence[str]]) -> list[str]:
        """What ran in the place of what was asked for, and no claim at all: it would be read as one of that."""
        ran = listed([one.short for one in stand_ins])
        about = listed([name for names in stand_ins.values() for name in names])
        says = f"ran on {ran} as a stand-in, so it says nothing about {about}"
        return [f"This {says}; it shows that the whole path works.", f"This {says}."]

    def of_ignored(self, ignored: Sequence[str]) -> list[str]:
        """Nothing was swept but what the embedded AWS ignores: no claim either."""
        says = f"ran on the embedded AWS, which ignores {listed(ignored)}, so it says nothing about {listed(ignored)}"
        return [f"This {says}; it shows that the whole path works.", f"This {says}."]

    def of_one(self) -> list[str]:
        """Nothing was swept: what a function gets."""
        timed = {key: cell for key, cell in self._cells.items() if cell["count"]}
        key, cell = max(timed.items(), key=lambda item: item[0].n)
        gets = f"takes {cell['seconds']['median_s']:.3g} s for one {self.one}"
        if found := self._gets(cell):
            gets = f"gets {found}"
        interval = cell["mbit_per_s"]["per_function_interval"] if self._speed.how == "rate" else None
        also = f" ({between(interval, '{:,.0f}')}, 95 %)" if interval else self._median_took(cell)
        only = "; only one cell ran, so there is nothing to compare" if len(timed) == 1 else ""
        return [
            f"{self._where}, one {self.worker} {gets}{also} with {key.words}{only}.",
            f"{self._where}, one {self.worker} {gets} with {key.words}{only}.",
            f"One {self.worker} {gets} with {key.words}.",
            f"One {self.worker} {gets}.",
        ]

    def _median_took(self, cell: Figures) -> str:
        """The interval of the median time, where the mean has none that holds."""
        found = cell["seconds"]["median_interval"]
        return f" (the median {self.one} took {between(found, '{:.3g}')} s, 95 %)" if found else ""

    def _gets(self, cell: Figures) -> str:
        """The speed of a cell in words; empty where it isn't known."""
        found, words = speed_of(cell, self._experiment), speed if self._speed.how == "rate" else quantity
        return f"{words(found)} {self._speed.unit}" if found else ""

    def of_knees(self, series: Sequence[Figures]) -> list[str]:
        """Up to where more bought something, where that is the same in all series; else where it was how much."""
        first, *rest = series
        if not rest:
            words = first["words"]
            return [f"{self._where}, {words}.", f"{words[0].upper()}{words[1:]}.", _until(words, ", and at best"),
                    _until(words, ": ")]  # fmt: skip
        starts = Counter(one["words"].partition(":")[0] for one in series)
        (most, count), *others = starts.most_common()
        if not others:
            where = "both" if len(series) == 2 else f"all {len(series)}"
            return [f"{self._where}, {most}, in {where} series.", f"{most[0].upper()}{most[1:]}."]
        told = f"{most}, in {count} of {len(series)} series"
        also = [f"{words}, in {number}" for words, number in others]
        return [f"{self._where}, {'; '.join([told, *also])}.", f"{self._where}, {told}; the others differ.",
                f"{told[0].upper()}{told[1:]}."]  # fmt: skip

    def of_sizes(self, series: Sequence[Figures]) -> list[str]:
        """At which sizes of an object the other choice is faster, and at which it is cheaper: of each thing that is
        done with one, what was measured at most sizes."""
        most: dict[str, Figures] = {}
        for one in series:
            if len(one["points"]) >= len(most.get(one["moves"], one)["points"]):
                most[one["moves"]] = one
        ours, shown = series[0]["ours"], most.values()
        faster, cheaper = ([(one[kind]["short"], VERBS[one["moves"]]) for one in shown if one[kind]]
                           for kind in ("time", "cost"))  # fmt: skip
        places = {one["place"] for one in shown} - {""}
        ours = f"{ours}, {places.pop()}," if len(places) == 1 and len(series) > len(shown) else ours
        claim = f"{ours} is {_where_it_is('faster', faster)}"
        whole = f"{claim}, and {_where_it_is('cheaper', cheaper)}" if cheaper else claim
        return [f"{self._where}, {whole}.", f"{whole}.", f"{claim}."]

    def of_choice(self, compare: Compare, rows: Sequence[Figures]) -> list[str]:
        """Several were tried: which is the fastest, where most ran at once; at the first of such places that can tell,
        unless another one is at another place."""
        places: dict[Any, list[Figures]] = {}
        most = max(self._key(one).n for one in rows)
        for one in (one for one in rows if self._key(one).n == most):
            places.setdefault(self._key(one).without(compare.axes), []).append(one)
        winners = [self._winner(mine, compare.axes) for mine in places.values()]
        if len(set(winners) - {None}) > 1:
            return self._depends(compare, list(places.values()), winners)
        told = (mine for mine in places.values() if any(one["all"]["level"] != "cant_tell" for one in mine))
        return self._of_place(compare, next(told, next(iter(places.values()))))

    def _of_place(self, compare: Compare, mine: Sequence[Figures]) -> list[str]:
        """Which is the fastest at one place."""
        base = self._key(mine[0]["base"])
        everywhere, label = base.words_without(compare.axes, self._told), self._label(compare)
        known = {self._key(one): one for one in mine if one["all"]["level"] != "cant_tell"}
        if not known:
            return [
                f"Which {label} is the fastest with {everywhere} is unknown: {mine[0]['all']['why']}.",
                f"Which {label} is the fastest is unknown: {mine[0]['all']['why']}.",
            ]
        best = min([base, *known], key=lambda key: self._cells[key]["seconds"]["median_s"])
        if best == base:
            return self._base_is_best(compare, base, known, everywhere)
        ahead = [key for key, one in known.items() if key == best or not _is_behind(one["against_fastest"])]
        ahead.sort(key=lambda key: self._cells[key]["seconds"]["median_s"])
        others = len(ahead) - 1
        names = [key.words_of(compare.axes) for key in ahead]
        with_others = listed(names) if others < 3 else f"{names[0]}, {names[1]} and {others - 1} more"
        ratio = known[best]["all"]["ratio_of_medians"]
        if ratio["low"] <= 1 <= ratio["high"]:
            return self._none_is_faster(compare, base, best, ratio, everywhere)
        claim = f"{1 / ratio['value']:.3g} × ({1 / ratio['high']:.3g} to {1 / ratio['low']:.3g}) as fast as"
        claim += f" {base.words_of(compare.axes)}"
        cpu = self._taken(best, base)
        who = names[0] if others == 0 else f"{with_others}, too close to call between them,"
        start = f"{who} {'is' if others == 0 else 'are'} the fastest with {everywhere}"
        return [
            f"{self._where}, {start}: {claim}{cpu}.",
            f"{start}: {claim}{cpu}.",
            f"{start}: {claim}.",
            f"{names[0]} is the fastest with {everywhere}: {claim}{cpu}.",
            f"{names[0]} is the fastest: {claim}.",
        ]

    def _winner(self, rows: Sequence[Figures], axes: Sequence[str]) -> str | None:
        """The fastest of what was chosen from at one place, in words; None where it isn't clearly the fastest."""
        known = {self._key(one): one for one in rows if one["all"]["level"] != "cant_tell"}
        base = self._key(rows[0]["base"])
        best = min([base, *known], key=lambda key: self._cells[key]["seconds"]["median_s"]) if known else None
        if best is None or (best != base and known[best]["all"]["ratio_of_medians"]["high"] >= 1):
            return None
        behind = all(_is_behind(one["against_fastest"]) for key, one in known.items() if key != best)
        return best.words_of(axes) if behind else None

    def _depends(
        self, compare: Compare, places: Sequence[Sequence[Figures]], winners: Sequence[str | None]
    ) -> list[str]:
        """Another one is the fastest at another place: how often which, and what the places differ in."""
        bases = [self._key(rows[0]["base"]) for rows in places]
        ignored = ignored_axes(self._axes)
        others = [axis for axis in self._axes if axis.name not in {*compare.axes, *ignored}]
        differing = [axis.label for axis in others if self._changes(axis.name, compare.axes, bases, winners)]
        alike: dict[tuple[Any, ...], set[str]] = {}
        for key, winner in zip(bases, winners, strict=True):
            alike.setdefault(key.without((*compare.axes, *ignored)), set()).update({winner} - {None})
        (first, count), *rest = Counter(filter(None, winners)).most_common()
        told = listed([f"{first} in {count} of {len(places)} cases", *(f"{name} in {times}" for name, times in rest)])
        few = sum(all(one["all"]["level"] == "cant_tell" for one in rows) for rows in places)
        close = [f"too close to call in {winners.count(None) - few}"] if winners.count(None) > few else []
        close = "".join(f"; {words}" for words in [*close, *([f"too few measurements in {few}"] if few else [])])
        depends = f"depends on {listed(differing) or 'what else was swept'}"
        if any(len(found) > 1 for found in alike.values()):
            depends = "varies between cells that ran alike"
        claim = f"which {self._label(compare)} is the fastest {depends}: {told}{close}."
        return [f"{self._where}, {claim}", f"W{claim[1:]}", f"W{claim[1:].partition(':')[0]}."]

    def _changes(self, name: str, axes: Sequence[str], bases: Sequence[Key], winners: Sequence[str | None]) -> bool:
        """Whether another one is the fastest at places that differ in this axis alone."""
        alike: dict[tuple[Any, ...], set[str]] = {}
        for key, winner in zip(bases, winners, strict=True):
            alike.setdefault(key.without((*axes, *ignored_axes(self._axes), name)), set()).update({winner} - {None})
        return len({key[name] for key in bases}) > 1 and any(len(found) > 1 for found in alike.values())

    def _label(self, compare: Compare) -> str:
        """What was chosen from, as a noun."""
        return next(axis.label for axis in self._axes if axis.name == compare.axes[0])

    def _none_is_faster(self, compare: Compare, base: Key, other: Key, ratio: Figures, everywhere: str) -> list[str]:
        """The one with the smallest median isn't told from the other."""
        ours, theirs = (key.words_of(compare.axes) for key in (other, base))
        claim = f"no {self._label(compare)} is clearly faster than {theirs}"
        took = f"the median of {ours} takes {took_words(ratio)} as long"
        return [f"{self._where}, {claim} with {everywhere}: {took}.", f"N{claim[1:]} with {everywhere}: {took}.",
                f"N{claim[1:]}: {took}.", f"N{claim[1:]}."]  # fmt: skip

    def _base_is_best(self, compare: Compare, base: Key, known: Mapping[Key, Figures], everywhere: str) -> list[str]:
        next_best = min(known, key=lambda key: self._cells[key]["seconds"]["median_s"])
        ratio, theirs = known[next_best]["all"]["ratio_of_medians"], next_best.words_of(compare.axes)
        if ratio["low"] <= 1:
            return self._none_is_faster(compare, base, next_best, ratio, everywhere)
        claim = f"{base.words_of(compare.axes)} is the fastest with {everywhere}; {theirs} comes next"
        return [
            f"{self._where}, {claim}: its median {self.one} takes {took_words(ratio)} as long.",
            f"{claim}: {took_words(ratio)} as long.",
            f"{base.words_of(compare.axes)} is the fastest; {theirs} comes next, {took_words(ratio)}.",
        ]

    def _taken(self, best: Key, base: Key) -> str:
        """What the fastest took of the function for the same bytes, as far as a record says it."""
        for metric in (one for one in self._metrics if one.how == "per_gib"):
            ours, theirs = (self._cells[key]["client"][metric.name] for key in (best, base))
            if ours and theirs:
                alike = 0.95 <= ours / theirs <= 1.05
                return f", with {'about the same' if alike else f'{ours / theirs:.2g} × its'} {metric.label}"
        return ""

    def of_scale(self, compare: Compare, rows: Sequence[Figures]) -> list[str]:
        """Something grew: does throughput hold? The largest against the smallest, for all else that was swept."""
        last = {self._key(one).without(compare.axes): one for one in rows}
        told = [one for one in last.values() if one["all"]["level"] != "cant_tell"]
        first = next(iter(last.values()))
        ends = [self._key(part).words_of(compare.axes) for part in (first["base"], first)]
        if not told:
            why = first["all"]["why"]
            return [f"How {self.many} at {ends[1]} compare with {ends[0]} is unknown: {why}."]
        if not self._is_n(compare):
            return self._of_other_scale(compare, told, ends)
        ratios = [one["all"]["ratio_of_medians"] for one in told]
        took = {"low": min(one["low"] for one in ratios), "high": max(one["high"] for one in ratios)}
        levels = {one["all"]["level"] for one in told}
        whole = {"level": levels.pop() if len(levels) == 1 else "mixed", "ratio_of_medians": took}
        far = f"from {ends[0]} to {ends[1]}{self._short(told)}"
        apart = "" if len(last) == 1 else f", {self._places(told, compare)}"
        if whole["level"] == "mixed":
            low, high = 1 / took["high"], 1 / took["low"]
            holds = sum(one["all"]["level"] == "holds" for one in told)
            ranges = f"it is {share_words(low, high)} of that at {ends[0]}"
            return [
                f"{self._where}, throughput per {self.worker} holds in {holds} of {len(told)} series {far}; {ranges}."
            ]
        says = conclusion(whole, self.worker)
        claim = f"{says}{',' if ', ' in says else ''} {far}"
        return [
            f"{self._where}, {claim}: the median {self.one} takes {took_words(took)} as long{apart}.",
            f"{self._where}, {claim}{apart}.",
            f"{claim[0].upper()}{claim[1:]}.",
        ]

    def _short(self, rows: Sequence[Figures]) -> str:
        """What must be said at once where fewer ran than the headline says."""
        overlaps = [(self._key(one).n, self._cells[self._key(one)]["parallelism"]) for one in rows]
        short = [(found["most_at_once"], n) for n, found in overlaps if found and found["most_at_once"] < n]
        return f" (but no more than {min(short)[0]} of {min(short)[1]} ran at once)" if short else ""

    def _of_other_scale(self, compare: Compare, told: Sequence[Figures], ends: Sequence[str]) -> list[str]:
        ratios = [one["all"]["ratio_of_medians"] for one in told]
        took = {"low": min(one["low"] for one in ratios), "high": max(one["high"] for one in ratios)}
        apart = "" if len(told) == 1 else f", {self._places(told, compare)}"
        claim = (
            f"{self._where}, with {ends[1]} the median {self.one} takes {took_words(took)} as long as with {ends[0]}"
        )
        return [f"{claim}{apart}.", f"{claim}."]

    def _places(self, rows: Sequence[Figures], compare: Compare) -> str:
        """Where a comparison was made, in words; only counted where it was made at more places than can be read."""
        keys = [self._key(one) for one in rows]
        if len(keys) > 3:
            return f"in all {len(keys)} series"
        return f"with {listed([key.words_without(compare.axes, distinguishing(keys)) for key in keys])}"

    def _key(self, figures: Figures) -> Key:
        return Key.of_figures(self._axes, figures)


def _where_it_is(what: str, found: Sequence[tuple[str, str]]) -> str:
    """`faster at all measured sizes for reading and below about 45 KB for writing`."""
    places: dict[str, list[str]] = {}
    for where, verb in found:
        places.setdefault(where, []).append(verb)
    unclear = places.pop("", [])
    told = listed([f"{where} for {listed(verbs)}" for where, verbs in places.items()])
    if len(places) == 1 and not unclear:
        [told] = places
    if not told:
        return f"not measurably {what} at any size"
    return f"{what} {told}" + (f" (too close to call for {listed(unclear)})" if unclear else "")


def _until(words: str, end: str) -> str:
    """The beginning of `words`, as a sentence."""
    begins = words.partition(end)[0]
    return f"{begins[0].upper()}{begins[1:]}."


def _is_behind(found: Figures | None) -> bool:
    """Whether a cell is slower than the fastest beyond its interval."""
    return found is not None and (found["ratio_of_medians"] is None or found["ratio_of_medians"]["low"] > 1)
