"""The headline: one sentence that answers the experiment's question for this run. What was swept decides which."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from stampede.cell import SETTINGS, Cell, distinguishing, ignored_axes
from stampede.experiment import FAILED_RUN, Compare, Experiment, StandIn, is_of_n, n_axis
from stampede.phrases import between, capitalised, counted, listed, quantity, speed
from stampede.report.measured import speed_of
from stampede.report.run import Run
from stampede.report.statistics import rules
from stampede.report.statistics.by_size import VERBS
from stampede.report.statistics.comparisons import conclusion, took_words
from stampede.report.statistics.knee import Claim
from stampede.report.statistics.memory import titles_at_most
from stampede.report.statistics.ranking import ranking

Figures = Mapping[str, Any]
# More is not read in one breath.
LONGEST = 200
# More places aren't named one by one.
MOST_PLACES = 3


def headline(
    run: Run,
    cells: Sequence[Figures],
    comparisons: Mapping[str, Sequence[Figures]],
    by_size: Sequence[Figures] = (),
    knees: Sequence[Claim] = (),
    memories: Sequence[Figures] = (),
) -> str:
    """At most LONGEST letters. `cells`, `comparisons`, `by_size` and `memories` are those of statistics.json, and
    `knees` what is said of each knee there."""
    versions = _versions(run, cells, comparisons, by_size, knees, memories)
    return next((version for version in versions if len(version) <= LONGEST), versions[-1][: LONGEST - 1] + "…")


def _versions(
    run: Run,
    cells: Sequence[Figures],
    comparisons: Mapping[str, Sequence[Figures]],
    by_size: Sequence[Figures],
    knees: Sequence[Claim],
    memories: Sequence[Figures],
) -> list[str]:
    """The sentence that fits what was swept, the fullest version first."""
    experiment, (one, _) = run.experiment, run.experiment.operation
    where = {"local": "On this machine", "unknown": "On an unknown target"}.get(run.target, f"On {run.source}")
    if not any(cell["count"] for cell in cells):
        return [f"This run has no {one} on record, so what one {experiment.worker[0]} gets is unknown."]
    planned, failed = failed_objects(cells)
    if 0 < failed >= FAILED_RUN * planned:
        return [f"{failed:,} of {counted(planned, 'object')} failed, so this run says nothing about speed."]
    all_cells, cells = cells, _of_headline(cells, experiment)
    comparisons = {
        compare.name: _of_headline(comparisons.get(compare.name, ()), experiment)
        for compare in experiment.compare
        if not experiment.headline_of.keys() & set(compare.axes)
    }
    by_key = {Cell.of_figures(experiment.axes, cell): cell for cell in cells}
    if stand_ins := run.stand_ins(by_key):
        return _of_stand_ins(stand_ins)
    if knees:
        return _of_knees(where, knees)
    if by_size:
        return _of_sizes(where, by_size)
    if ignored := only_ignored(run, comparisons):
        return _of_ignored(ignored, {key.n for key in by_key} if memories else ())
    only = _only(experiment) if len(cells) < len(all_cells) else ""
    if titles_at_most(memories):
        return _saying(only, _of_memories(where, by_key, memories, comparisons, experiment))
    for compare in answerable(experiment):
        rows = comparisons.get(compare.name, ())
        measured = _measured(rows)
        if measured and compare.kind == "choice":
            return _saying(only, ranking(where, by_key, measured, compare, experiment))
        if measured:
            # The largest counts even where nothing was measured: another would answer another question.
            versions = _saying(only, _of_scale(where, by_key, rows, compare, experiment))
            return [*_without_memory(versions, experiment), *versions] if memories else versions
    return _of_one_cell(where, by_key, experiment)


def _of_headline(rows: Sequence[Figures], experiment: Experiment) -> Sequence[Figures]:
    """Those of these cells that the headline is about; all, where there are none."""
    chosen = [row for row in rows if all(row[name] == value for name, value in experiment.headline_of.items())]
    return chosen or rows


def _only(experiment: Experiment) -> str:
    """Which cells those of the headline are, in words: `warm start`."""
    axes = {axis.name: axis for axis in experiment.axes}
    return listed([axes[name].words.format(value) for name, value in experiment.headline_of.items()])


def _saying(only: str, versions: Sequence[str]) -> list[str]:
    """The same, each with the cells that it is about where it doesn't name them."""
    return [version if only in version else f"{version.removesuffix('.')} ({only}s only)." for version in versions]


def failed_objects(cells: Sequence[Figures]) -> tuple[int, int]:
    """How many objects were planned, and how many of them failed."""
    planned, failed = (sum(cell["client"].get(name) or 0 for cell in cells) for name in ("planned", "failed"))
    return planned, failed


def answerable(experiment: Experiment) -> list[Compare]:
    """The comparisons that this experiment can make where it ran: not those of what the embedded AWS ignores."""
    return [compare for compare in experiment.compare if compare.axes[0] not in ignored_axes(experiment.axes)]


def only_ignored(run: Run, comparisons: Mapping[str, Sequence[Figures]]) -> list[str]:
    """What was swept, in words, where the embedded AWS ignores all of it; else []."""
    ignored = ignored_axes(run.experiment.axes)
    swept = [compare for compare in run.experiment.compare if _measured(comparisons.get(compare.name, ()))]
    if any(compare.axes[0] not in ignored for compare in swept):
        return []
    return [ignored[compare.axes[0]] for compare in swept]


def _measured(rows: Sequence[Figures]) -> list[Figures]:
    return [row for row in rows if row["all"]["count"]]


def _of_stand_ins(stand_ins: Mapping[StandIn, Sequence[str]]) -> list[str]:
    """What ran in the place of what was asked for, and no claim at all: it would be read as one of that."""
    ran = listed([stand_in.short for stand_in in stand_ins])
    replaced = listed([name for names in stand_ins.values() for name in names])
    noun, verb = ("stand-in", "was") if len(stand_ins) == 1 else ("stand-ins", "were")
    claim = f"The {noun} for {replaced} {verb} {ran}, so this run says nothing about {replaced}"
    return [f"{claim}; it shows that the rest of the path works.", f"{claim}."]


def _of_ignored(ignored: Sequence[str], concurrencies: Collection[int]) -> list[str]:
    """Nothing was swept but what the embedded AWS ignores: no claim either, and none about N where only one ran."""
    claim = f"This ran on the embedded AWS, which ignores {listed(ignored)}, so it says nothing about {listed(ignored)}"
    if len(concurrencies) == 1:
        return [f"{claim}; only N = {max(concurrencies):,} ran, so whether throughput holds is unknown.", f"{claim}."]
    return [f"{claim}; it shows that the whole path works.", f"{claim}."]


def _without_memory(versions: Sequence[str], experiment: Experiment) -> list[str]:
    """The same with the reason why no memory size is named; [] where memory has an effect."""
    ignored = [words for axis, words in ignored_axes(experiment.axes).items() if axis == "memory_size_mb"]
    reason = [f"; the embedded AWS ignores {words}, so no size is named." for words in ignored]
    return [version.removesuffix(".") + text for version in versions for text in reason]


def _of_knees(where: str, knees: Sequence[Claim]) -> list[str]:
    """Up to where more gave a gain, where that is the same in all series; else in how many series it was where."""
    if len(knees) == 1:
        [claim] = knees
        versions = [f"{where}, {claim.words}.", f"{capitalised(claim.words)}."]
        if claim.best_beyond:
            versions += [f"{where}, {claim.limit}: {claim.speed}.", f"{capitalised(claim.limit)}: {claim.speed}."]
        return [*versions, f"{capitalised(claim.limit)}."]
    (limit, count), *other_limits = Counter(claim.limit for claim in knees).most_common()
    if not other_limits:
        series = "both" if count == 2 else f"all {count}"
        return [f"{where}, {limit}, in {series} series.", f"{capitalised(limit)}."]
    most = f"{limit}, in {count} of {len(knees)} series"
    rest = "; ".join(f"{limit}, in {number}" for limit, number in other_limits)
    return [f"{where}, {most}; {rest}.", f"{where}, {most}; the others differ.", f"{capitalised(most)}."]


def _of_sizes(where: str, series: Sequence[Figures]) -> list[str]:
    """At which sizes of an object a variant is faster, and at which it is cheaper: of reading and of writing, in the
    series with the most sizes."""
    fullest: dict[str, Figures] = {}
    for row in series:
        if len(row["points"]) >= len(fullest.get(row["moves"], row)["points"]):
            fullest[row["moves"]] = row
    variant, places = series[0]["ours"], {row["place"] for row in fullest.values()} - {""}
    if len(places) == 1 and len(series) > len(fullest):
        variant = f"{variant}, {places.pop()},"
    claim = f"{variant} is {_at_sizes('faster', 'time', fullest)}"
    versions = [f"{where}, {claim}.", f"{claim}."]
    if any(row["cost"] for row in fullest.values()):
        both = f"{claim}, and {_at_sizes('cheaper', 'cost', fullest)}"
        versions = [f"{where}, {both}.", f"{both}.", f"{claim}."]
    return versions


def _of_memories(
    where: str,
    cells: Mapping[Cell, Figures],
    memories: Sequence[Figures],
    comparisons: Mapping[str, Sequence[Figures]],
    experiment: Experiment,
) -> list[str]:
    """Which memory at the largest N at which one can be named, and whether throughput holds up to there with it."""
    series, titles = titles_at_most(memories)
    named = ", and ".join(f"{size:,} MB is {listed(words)}" for size, words in titles.items())
    short = _unreached(cells, {Cell.of_figures(experiment.axes, point): point for point in series["points"]})
    claim = f"at {series['where']}{short}, {named}"
    versions = [f"{where}, {claim}.", f"{capitalised(claim)}."]
    point = next(point for point in series["points"] if point["memory_size_mb"] in titles)
    key = Cell.of_figures(experiment.axes, point)
    of_n = next(
        (comparisons.get(compare.name, ()) for compare in experiment.compare if is_of_n(experiment, compare)), ()
    )
    for row in of_n:
        if Cell.of_figures(experiment.axes, row) == key and row["all"]["level"] != "cant_tell":
            ends = f"from N = {row['base'][n_axis(experiment.axes)]:,}"
            holds = f"with {key.value_words('memory_size_mb')}, {conclusion(row['all'], experiment.worker[0], ends)}"
            versions = [f"{where}, {claim}; {holds}.", f"{capitalised(claim)}; {holds}.", *versions]
    return versions


def _at_sizes(better: str, kind: str, fullest: Mapping[str, Figures]) -> str:
    """`faster at all measured sizes for reading and below about 45 KB for writing`."""
    verbs_at: dict[str, list[str]] = {}
    for moves, series in fullest.items():
        if series[kind]:
            verbs_at.setdefault(series[kind]["short"], []).append(VERBS[moves])
    unclear = verbs_at.pop("", [])
    if not verbs_at:
        return f"not measurably {better} at any size"
    if len(verbs_at) == 1 and not unclear:
        return f"{better} {next(iter(verbs_at))}"
    sizes = listed([f"{sizes} for {listed(verbs)}" for sizes, verbs in verbs_at.items()])
    return f"{better} {sizes}" + (f" (too close to call for {listed(unclear)})" if unclear else "")


def _of_scale(
    where: str, cells: Mapping[Cell, Figures], rows: Sequence[Figures], compare: Compare, experiment: Experiment
) -> list[str]:
    """Something grew: does throughput hold? The largest against the smallest, for all else that was swept."""
    largest = {}
    for row in rows:
        key = Cell.of_figures(experiment.axes, row)
        largest[key.without(compare.axes)] = key, row
    key, row = next(iter(largest.values()))
    base = Cell.of_figures(experiment.axes, row["base"]).words_of(compare.axes)
    top, (one, many) = key.words_of(compare.axes), experiment.operation
    measured = {key: row["all"] for key, row in largest.values() if row["all"]["level"] != "cant_tell"}
    if not measured:
        return [f"How {many} at {top} compare with {base} is unknown: {row['all']['why']}."]
    took = _around(list(measured.values()))
    places = f"in all {len(measured)} series" if len(measured) == len(largest) else f"in {len(measured)} series"
    if len(measured) <= MOST_PLACES:
        places = f"with {_places(list(measured), compare)}"
    not_compared = len(largest) - len(measured)
    rest = f" ({not_compared} of {len(largest)} series can’t be compared)" if not_compared else ""
    places += rest
    if not is_of_n(experiment, compare):
        claim = f"{where}, with {top} the median {one} takes {took_words(took)} as long as with {base}"
        return [f"{claim}, {places}." if len(measured) > 1 else f"{claim}.", f"{claim}."]
    ends, worker = f"from {base} to {top}{_unreached(cells, measured)}", experiment.worker[0]
    levels = {effect["level"] for effect in measured.values()}
    if len(levels) > 1:
        claim = _of_several_levels(list(measured.values()), worker, ends)
        return [f"{where}, {claim}{rest}.", f"{capitalised(claim)}{rest}."]
    claim = conclusion({"level": levels.pop(), "ratio_of_medians": took}, worker, ends)
    apart = f", {places}" if len(largest) > 1 else ""
    return [
        f"{where}, {claim}: the median {one} takes {took_words(took)} as long{apart}.",
        f"{where}, {claim}{apart}.",
        f"{where}, {claim}.",
        f"{capitalised(claim)}.",
    ]


def _around(effects: Sequence[Figures]) -> dict[str, float]:
    """The interval that holds those of all these ratios."""
    ratios = [effect["ratio_of_medians"] for effect in effects]
    return {"low": min(ratio["low"] for ratio in ratios), "high": max(ratio["high"] for ratio in ratios)}


def _of_several_levels(effects: Sequence[Figures], worker: str, ends: str) -> str:
    """What series of different levels say, the most common first: `median throughput per function falls to between 18
    and 56 % in 1 of 2 series from N = 1 to N = 2 and is too close to call in 1`."""
    throughput, clauses = f"median throughput per {worker}", []
    for level, count in Counter(effect["level"] for effect in effects).most_common():
        alike = {"level": level, "ratio_of_medians": _around([row for row in effects if row["level"] == level])}
        words = conclusion(alike, worker).removeprefix(f"{throughput} ")
        words = "is too close to call" if level == "unclear" else words
        clauses.append(f"{words} in {count}" + ("" if clauses else f" of {len(effects)} series {ends}"))
    return f"{throughput} {listed(clauses)}"


def _places(keys: Sequence[Cell], compare: Compare) -> str:
    """The places of a comparison in words, what all have in common once: `1,024 MB and 1,769 MB, thumbnail`."""
    named_axes, axes = distinguishing(keys), keys[0].axes
    differing = [axis for axis in axes if len({key[axis.name] for key in keys}) > 1 and axis.name not in compare.axes]
    if not differing or any(axis.is_variant for axis in differing) or len({key.settings for key in keys}) > 1:
        return listed([key.words_without(compare.axes, named_axes) for key in keys])
    names = {axis.name for axis in differing}
    own = {axis.name for axis in axes} - names
    common = keys[0].words_without((*compare.axes, *names), named_axes)
    return ", ".join(filter(None, (listed([key.words_without((*own, SETTINGS)) for key in keys]), common)))


def _unreached(cells: Mapping[Cell, Figures], keys: Mapping[Cell, Figures]) -> str:
    """What must be said at once where fewer ran than the headline says."""
    short = []
    for key in keys:
        overlap = cells[key]["parallelism"]
        if overlap and overlap["most_at_once"] < key.n:
            short.append((overlap["most_at_once"], key.n))
    return f" (but no more than {min(short)[0]} of {min(short)[1]} ran at once)" if short else ""


def _of_one_cell(where: str, cells: Mapping[Cell, Figures], experiment: Experiment) -> list[str]:
    """Nothing was swept: what a function gets."""
    timed = {key: cell for key, cell in cells.items() if cell["count"]}
    key, cell = max(timed.items(), key=lambda item: item[0].n)
    (one, _), worker, is_rate = experiment.operation, experiment.worker[0], experiment.speed.how == "rate"
    gets = f"takes {cell['seconds']['median_s']:.3g} s for one {one}"
    if value := speed_of(cell, experiment):
        gets = f"gets {speed(value) if is_rate else quantity(value)} {experiment.speed.unit} on average"
    if cell["count"] < rules.MINIMUM_FOR_COMPARISON:
        gets += f" ({counted(cell['count'], 'measurement')})"
    sure, median_interval = "", cell["seconds"]["median_interval"]
    if is_rate and (interval := cell["mbit_per_s"]["per_function_interval"]):
        sure = f" ({between(interval, '{:,.0f}')}, 95 %)"
    elif median_interval:
        # The mean has no interval that holds.
        sure = f" (the median {one} took {between(median_interval, '{:.3g}')} s, 95 %)"
    only = "; only one cell ran, so there is nothing to compare" if len(timed) == 1 else ""
    return [
        f"{where}, one {worker} {gets}{sure} with {key.words}{only}.",
        f"{where}, one {worker} {gets} with {key.words}{only}.",
        f"One {worker} {gets} with {key.words}.",
        f"One {worker} {gets}.",
    ]
