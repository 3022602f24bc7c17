"""What a run says in words: the headline, its basis, and at most five caveats.

The headline is the first pattern that applies. All patterns speak of medians, and of the ratios and
intervals in the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from stampede.cell import Cell, common_axes, distinguishing
from stampede.experiment import FAILED_RUN, Compare, is_of_n
from stampede.phrases import (
    capitalised,
    counted,
    decimal_size,
    listed,
    ratios,
    rounded_down,
    rounded_up,
    significant,
    size_words,
    some,
)
from stampede.report.analysis import Analysis
from stampede.report.caveats import caveats
from stampede.report.cells import Figures
from stampede.report.findings import A_TENTH, LOST_MORE, MEMORY, Finding
from stampede.report.intervals import MINIMUM_FOR_INTERVAL, MINIMUM_ROUNDS, Estimate
from stampede.report.messages import failures, total_objects

MOST_CAVEATS = 5
# Nobody reads a longer list to its end.
MOST_NAMED = 3
TITLES = {
    "cheapest": "the cheapest",
    "fastest": "the fastest",
    "balanced": "the best balance of both",
}


@dataclass(frozen=True)
class Answer:
    """`headline` is one or two sentences; `basis` what it rests on, as pairs of label and text."""

    headline: str
    basis: list[tuple[str, str]]
    caveats: list[str]


def say(analysis: Analysis) -> Answer:
    clause = next(clause for rule in RULES if (clause := rule(analysis)))
    headline = place_of(analysis) + clause
    names = {str(value) for cell in analysis.cells for value in cell.coordinates}
    # A name at the beginning keeps its lower case.
    if headline.partition(" ")[0] not in names:
        headline = capitalised(headline)
    measured_on = analysis.run.source + (", not AWS" if analysis.run.not_aws else "")
    return Answer(
        headline=headline,
        basis=[("Measured on", measured_on), ("Based on", _basis(analysis, headline))],
        caveats=caveats(analysis)[:MOST_CAVEATS],
    )


def place_of(analysis: Analysis) -> str:
    """What a headline begins with: that the run wasn't on AWS; "" if it was."""
    target = analysis.run.target
    if target == "aws":
        return ""
    return {"local": "Local test, not AWS: ", "endpoint": "An endpoint, not AWS: "}.get(
        target, "Target unknown: "
    )


def _basis(analysis: Analysis, headline: str) -> str:
    """How many measurements the answer rests on, and how many messages succeeded."""
    counts = [figures.count for figures in analysis.cells.values()]
    if not any(counts):
        return f"nothing: {successes_words(analysis)}"
    span = _range(counts, "{:,}".format)
    words = f"{span} {analysis.experiment.operation[max(counts) != 1]} a cell"
    needed = MINIMUM_ROUNDS if analysis.experiment.knee else MINIMUM_FOR_INTERVAL
    few = "too few for some intervals" if max(counts) >= needed else "too few for intervals"
    words += ", 95 % intervals" if min(counts) >= needed else f", {few}"
    rounds = {figures.rounds for figures in analysis.cells.values() if figures.rounds > 1}
    if rounds:
        words += f", {_range(rounds, '{:,}'.format)} rounds"
    repeats = max(len(figures.repeats) for figures in analysis.cells.values())
    words += f", {repeats} repeats" if repeats else ""
    if len(analysis.of_headline) < len(analysis.cells) and analysis.experiment.headline_of:
        axes = {axis.name: axis for axis in analysis.experiment.axes}
        counting = [
            axes[name].words.format(value)
            for name, value in analysis.experiment.headline_of.items()
        ]
        words += f"; the headline’s times are of {listed(counting)}s only"
    succeeded = successes_words(analysis)
    return words if succeeded in headline else f"{words}; {succeeded}"


def successes_words(analysis: Analysis) -> str:
    """`320 of 320 succeeded`."""
    succeeded, sent = analysis.successes
    return f"{succeeded:,} succeeded" if sent is None else f"{succeeded:,} of {sent:,} succeeded"


# The patterns of the headline, in order of precedence


def headline_for_nothing(analysis: Analysis) -> str:
    if any(figures.count for figures in analysis.cells.values()):
        return ""
    kinds = sorted(failures(analysis.run, analysis.account), key=lambda failure: -failure.records)
    sent, account = analysis.totals["sent"], analysis.account
    what = counted(sent, "message") if sent else analysis.experiment.operation[1]
    if not kinds:
        return f"no {analysis.experiment.operation[0]} is on record" + (
            f"; {what} sent." if sent else "."
        )
    is_known = sent and account.total("failed") + account.total("dead_lettered") >= sent
    failed = f"all {what} failed" if is_known else f"none of {what} succeeded"
    return f"{failed}: {(kinds[0].example or kinds[0].kind).rstrip('.')}."


def headline_for_failed_objects(analysis: Analysis) -> str:
    objects = total_objects(analysis.account)
    if not 0 < objects["failed"] >= FAILED_RUN * objects["planned"]:
        return ""
    return (
        f"{objects['failed']:,} of {counted(objects['planned'], 'object')} failed, so speeds say "
        "nothing."
    )


def headline_for_stand_ins(analysis: Analysis) -> str:
    stand_ins = analysis.run.stand_ins(analysis.of_headline)
    if not stand_ins:
        return ""
    clauses = [
        f"{stand_in.short} stood in for {listed(names)}" for stand_in, names in stand_ins.items()
    ]
    replaced = listed([name for names in stand_ins.values() for name in names])
    return (
        f"{successes_words(analysis)}. {capitalised(listed(clauses))}, so the times say nothing "
        f"about {replaced}."
    )


def headline_for_unreached_n(analysis: Analysis) -> str:
    n = max(figures.cell.n for figures in analysis.of_headline.values())
    at_n = [
        figures
        for figures in analysis.of_headline.values()
        if figures.cell.n == n and figures.overlap
    ]
    peak = max((figures.overlap.peak for figures in at_n if figures.overlap), default=n)
    medians = [figures.everything.median for figures in at_n if figures.count]
    if peak >= n or not medians:
        return ""
    many = analysis.experiment.operation[1]
    claim = f"N = {n:,} was not reached: {peak:,} ran at once at most"
    advice = f"More messages (--messages-per-concurrency) or longer {many} may reach it."
    return f"{claim}; {_operation(analysis)} takes {_span(medians)}. {advice}"


def headline_for_losses(analysis: Analysis) -> str:
    """A choice or an N that lost more messages isn't compared with one that lost fewer."""
    for compare in [*analysis.compares("choice"), *analysis.compares("scale")]:
        rows = _rows(analysis, compare)
        lossy = [row for row in rows if row.why == LOST_MORE]
        is_ranked = compare.kind == "choice" and any(row.ratio for row in rows)
        if not lossy or is_ranked:
            continue
        sides = [analysis.cells[cell] for cell in (lossy[-1].subject, lossy[-1].baseline)]
        sides.sort(key=lambda figures: figures.lost_share)
        fewer, more = (_losses(figures, compare) for figures in sides)
        return f"{more} messages, and {fewer}, so they aren’t compared."
    return ""


def _losses(figures: Figures, compare: Compare) -> str:
    """`ranges lost 2 of 12`, `crt none`."""
    name = figures.cell.words_of(compare.axes)
    if not figures.lost:
        return f"{name} none"
    return f"{name} lost {figures.lost:,} of {figures.counts['sent']:,}"


def headline_for_knee(analysis: Analysis) -> str:
    rows = [finding for finding in analysis.findings if finding.kind == "knee"]
    if not rows or analysis.experiment.knee is None:
        return ""
    axis, calls = analysis.experiment.knee
    every = _by_place(rows, (axis,))
    series = [of_series for of_series in every if of_series[0].titles is not None] or every[:1]
    sentences = list(dict.fromkeys(_knee(analysis, of_series, axis, calls) for of_series in series))
    if len(sentences) > 1:
        ends = _range((_knee_range(of_series, axis)[0] for of_series in series), "{:,}".format)
        return f"up to {ends} {calls} help, by series; the table has each."
    return sentences[0]


def _knee(analysis: Analysis, series: Sequence[Finding], axis: str, calls: str) -> str:
    unit = analysis.experiment.speed.unit
    speeds = {row.subject[axis]: analysis.cells[row.subject].speeds.median for row in series}
    if series[0].titles is None:
        ends = [
            f"{significant(speeds[value])} {unit} with {value:,}"
            for value in (min(speeds), max(speeds))
        ]
        return (
            f"too few {analysis.experiment.operation[1]} to say how many {calls} help; medians are "
            f"{listed(ends)}."
        )
    low, high = _knee_range(series, axis)
    most, speed = max(speeds), f"a median of {significant(speeds[low])} {unit}"
    if low == most:
        return f"more {calls} help up to {most:,}, the most tried: {speed}."
    if low < high == most:
        span = f"{low:,} to {high:,} {calls}, the most tried,"
        return f"{span} may be enough: {speed} with {low:,}."
    if low < high:
        beyond = f"More than {high:,} gain at most {A_TENTH}."
        return f"{low:,} to {high:,} {calls} may be enough: {speed} with {low:,}. {beyond}"
    if low == min(speeds):
        limit = next(row.subject for row in series if row.subject[axis] == low).value_words(axis)
        return f"{speed} with {limit}; more gain at most {A_TENTH}."
    return f"up to {low:,} {calls} help: {speed}. Beyond, no gain above {A_TENTH}."


def _knee_range(series: Sequence[Finding], axis: str) -> tuple[int, int]:
    """The smallest and the largest value that may be the knee."""
    at_knee = [row.subject[axis] for row in series if row.titles and "knee" in row.titles]
    return (at_knee[0], at_knee[-1]) if at_knee else (series[-1].subject[axis],) * 2


def headline_for_sizes(analysis: Analysis) -> str:
    declared = analysis.experiment.by_size
    rows = [finding for finding in analysis.findings if finding.kind == "size" and finding.ratio]
    if not rows or declared is None:
        return ""
    axis = declared.moves[0]
    along = (
        declared.size,
        *(other.name for other in analysis.experiment.axes if callable(other.default)),
    )
    clauses = []
    for operation in dict.fromkeys(row.subject[axis] for row in rows):
        series = _by_place((row for row in rows if row.subject[axis] == operation), along)
        clauses.append(f"{operation} {_sizes(max(series, key=len), declared.size)}")
    choice, base = (cell[declared.choice] for cell in (rows[0].subject, rows[0].baseline))
    return f"{choice} against {base}: {'; '.join(clauses)}."


def _sizes(series: Sequence[Finding], axis: str) -> str:
    """At which sizes the subject is faster, and cheaper."""
    faster = _at_sizes({row.subject[axis]: row.ratio for row in series if row.ratio})
    costs = {row.subject[axis]: row.cheaper for row in series if row.cheaper}
    cheaper = _at_sizes(costs) if costs else ""
    if faster == cheaper:
        return f"faster and cheaper {faster}"
    return f"faster {faster}" + (f" and cheaper {cheaper}" if cheaper else "")


def _at_sizes(estimates: Mapping[int, Estimate]) -> str:
    """`up to 10 KB`, `at every size`."""
    sizes = sorted(estimates)
    better = [size for size in sizes if estimates[size].leaves_1_out and estimates[size].value > 1]
    if not better:
        return "at no size"
    if len(better) == len(sizes):
        return "at every size" if len(sizes) > 1 else f"at {decimal_size(sizes[0])}"
    if len(better) > 1 and better == sizes[: len(better)]:
        return f"up to {decimal_size(better[-1])}"
    if len(better) > 1 and better == sizes[-len(better) :]:
        return f"from {decimal_size(better[0])} on"
    return f"at {some([decimal_size(size) for size in better], MOST_NAMED)}"


def headline_for_memory(analysis: Analysis) -> str:
    rows = [
        row
        for row in analysis.findings
        if row.kind == "memory" and row.subject in analysis.of_headline
    ]
    for series in sorted(_by_place(rows, (MEMORY,)), key=lambda series: -series[0].subject.n):
        held: dict[str, list[str]] = {}
        for row in series:
            for title, is_alone in (row.titles or {}).items():
                if is_alone:
                    held.setdefault(row.subject.value_words(MEMORY), []).append(TITLES[title])
        if held:
            clauses = [f"{size} is {listed(titles)}" for size, titles in held.items()]
            n = series[0].subject.n
            return f"at N = {n:,}, {listed(clauses)}; {successes_words(analysis)}."
    return ""


def headline_for_choice(analysis: Analysis) -> str:
    for compare in analysis.compares("choice"):
        rows = [row for row in _rows(analysis, compare) if row.ratio]
        if not rows:
            continue
        places = _by_place(rows, compare.axes)
        winners = {_winner(place) for place in places} - {None}
        if len({winner.words_of(compare.axes) for winner in winners if winner}) > 1:
            return _changing_order(analysis, places, compare)
        n = max(row.subject.n for row in rows)
        return _ranking(analysis, [place for place in places if place[0].subject.n == n], compare)
    return ""


def _winner(place: Sequence[Finding]) -> Cell | None:
    """The choice that beats every other beyond its interval; None if there is none."""
    is_clear = all(row.ratio and row.ratio.low is not None and row.ratio.low > 1 for row in place)
    return place[0].subject if is_clear else None


def _ranking(analysis: Analysis, places: Sequence[Sequence[Finding]], compare: Compare) -> str:
    """The fastest choice of each place against the next; if any place has a winner, only those
    count as places."""
    won = [place for place in places if _winner(place)]
    followings = [
        min(place, key=lambda row: row.ratio.value if row.ratio else 0)
        for place in won or places[:1]
    ]
    estimates = [row.ratio for row in followings if row.ratio]
    first = followings[0].subject.words_of(compare.axes)
    seconds = {row.baseline.words_of(compare.axes) for row in followings}
    following = seconds.pop() if len(seconds) == 1 else "the next"
    times = _range((estimate.value for estimate in estimates), "{:.2f}".format)
    ends = _around(estimates)
    span = f"95 % CI {ratios({'low': ends.low, 'high': ends.high})}"
    here = _here(analysis, followings[0].subject, compare.axes)
    if won:
        where = here if len(places) == 1 else f" in {len(won)} of {len(places)} cases"
        claim = f"{first} is {times} times as fast as {following}{where} ({span})"
        return f"{claim}; {successes_words(analysis)}."
    medians = [
        _s(analysis.cells[cell].seconds["median_s"])
        for cell in (followings[0].subject, followings[0].baseline)
    ]
    both = f"{first} {medians[0]}, {following} {medians[1]}"
    return f"no clear winner{here}: {both} ({times} times as fast, {span})."


def _changing_order(
    analysis: Analysis, places: Sequence[Sequence[Finding]], compare: Compare
) -> str:
    """Which choice is the fastest where, if that depends on the place."""
    by_winner: dict[str, list[str]] = {}
    shown = distinguishing(row.subject for place in places for row in place)
    common = common_axes(row.subject for place in places for row in place)
    for place in places:
        winner = _winner(place)
        if winner:
            words = winner.words_without((*compare.axes, *common), shown)
            by_winner.setdefault(winner.words_of(compare.axes), []).append(words)
    clauses = [
        f"{winner} with {listed(where)}"
        if len(where) == 1
        else f"{winner} in {len(where)} of {len(places)} cells"
        for winner, where in by_winner.items()
    ]
    label = next(axis.label for axis in analysis.experiment.axes if axis.name == compare.axes[0])
    return f"the order changes: the fastest {label} is {listed(clauses)}."


def headline_for_scale(analysis: Analysis) -> str:
    for compare in analysis.compares("scale"):
        rows = _rows(analysis, compare)
        if not rows:
            continue
        last = [place[-1] for place in _by_place(rows, compare.axes)]
        if not is_of_n(analysis.experiment, compare):
            return _other_scale(analysis, last[0], compare)
        # Series that end before the largest N, or start elsewhere, don't count.
        ends = max((row.subject.n, row.baseline.n) for row in last)
        last = [row for row in last if (row.subject.n, row.baseline.n) == ends]
        is_shared = analysis.run.target == "aws" and all(row.ratio for row in last)
        return _kept_throughput(analysis, last) if is_shared else _growing_time(analysis, last)
    return ""


def _kept_throughput(analysis: Analysis, last: Sequence[Finding]) -> str:
    """The largest N against the smallest: `each function keeps 96 % of what it has alone`."""
    n, base = last[0].subject.n, last[0].baseline.n
    alone = "it has alone" if base == 1 else f"it has at N = {base:,}"
    shares = [row.ratio for row in last if row.ratio]
    start = f"N = {n:,}: each {analysis.experiment.worker[0]} {_verb(shares)}"
    if len(last) == 1 or len(last) > MOST_NAMED:
        several = f", {len(last)} series" if len(last) > 1 else ""
        kept = f"{_range((share.value for share in shares), _percent)} % of the throughput {alone}"
        return (
            f"{start} {kept} (95 % CI {_percents(_around(shares))}{several}); "
            f"{successes_words(analysis)}."
        )
    shown = distinguishing(row.subject for row in last)
    common = common_axes(row.subject for row in last)
    parts = []
    for row, share in zip(last, shares, strict=True):
        where = row.subject.words_without(common, shown)
        parts.append(f"{_percent(share.value)} % ({_percents(share)}) with {where}")
    return f"{start} {listed(parts)} of the throughput {alone}; {successes_words(analysis)}."


def _verb(shares: Sequence[Estimate]) -> str:
    return "keeps" if max(share.value for share in shares) <= 1 else "gets"


def _growing_time(analysis: Analysis, last: Sequence[Finding]) -> str:
    """`a download of 64 MiB takes 0.11 s alone and 1.1 s at N = 10`."""
    n, base = last[0].subject.n, last[0].baseline.n
    firsts = _span(analysis.cells[row.baseline].seconds["median_s"] for row in last)
    lasts = _span(analysis.cells[row.subject].seconds["median_s"] for row in last)
    alone = "alone" if base == 1 else f"at N = {base:,}"
    several = f", the medians of {len(last)} series" if len(last) > 1 else ""
    claim = f"{_operation(analysis)} takes {firsts} {alone} and {lasts} at N = {n:,}"
    return f"{claim}{several}. {successes_words(analysis)}."


def _other_scale(analysis: Analysis, row: Finding, compare: Compare) -> str:
    """The largest value of another scale against the smallest."""
    top, base = (cell.words_of(compare.axes) for cell in (row.subject, row.baseline))
    medians = [_s(analysis.cells[cell].seconds["median_s"]) for cell in (row.subject, row.baseline)]
    claim = f"with {top} {_operation(analysis)} takes {medians[0]}, with {base} {medians[1]}"
    if row.ratio:
        claim += f" ({row.ratio.value:.2f} times as fast, 95 % CI {ratios(row.ratio._asdict())})"
    return f"{claim}; {successes_words(analysis)}."


def headline_for_one_cell(analysis: Analysis) -> str:
    """Nothing with an effect was swept: what an operation takes at the largest N."""
    timed = [figures for figures in analysis.of_headline.values() if figures.count]
    n = max(figures.cell.n for figures in timed)
    at_n = [figures for figures in timed if figures.cell.n == n]
    median = at_n[0].median
    span = ""
    if len(at_n) == 1 and median and median.low is not None and median.high is not None:
        span = f" (95 % CI {significant(median.low)} to {significant(median.high)} s)"
    several = f", the medians of {len(at_n)} cells" if len(at_n) > 1 else ""
    took = _span(figures.seconds["median_s"] for figures in at_n)
    claim = f"{_operation(analysis)} takes {took} at N = {n:,}{span}{several}"
    return f"{claim}; {successes_words(analysis)}."


RULES: Sequence[Callable[[Analysis], str]] = (
    headline_for_nothing,
    headline_for_failed_objects,
    headline_for_stand_ins,
    headline_for_unreached_n,
    headline_for_losses,
    headline_for_knee,
    headline_for_sizes,
    headline_for_memory,
    headline_for_choice,
    headline_for_scale,
    headline_for_one_cell,
)


def _rows(analysis: Analysis, compare: Compare) -> list[Finding]:
    return [
        row
        for row in analysis.findings
        if row.compare == compare.name and row.subject in analysis.of_headline
    ]


def _by_place(rows: Iterable[Finding], axes: Sequence[str]) -> list[list[Finding]]:
    """The rows, grouped by subjects that differ in these axes alone."""
    places: dict[tuple[object, ...], list[Finding]] = {}
    for row in rows:
        places.setdefault(row.subject.without(axes), []).append(row)
    return list(places.values())


def _here(analysis: Analysis, cell: Cell, axes: Sequence[str]) -> str:
    """Where a cell stands on the axes in which cells differ: ` at N = 10`."""
    differing = [
        axis.name
        for axis in analysis.experiment.axes
        if axis.name not in axes and len({other[axis.name] for other in analysis.of_headline}) > 1
    ]
    words = [cell.value_words(name) for name in differing]
    return f" at {', '.join(words)}" if words else ""


def _operation(analysis: Analysis) -> str:
    """`a download of 64 MiB`; without a size if cells differ in it, or move only a payload."""
    one = analysis.experiment.operation[0]
    words = f"{'an' if one[0] in 'aeiou' else 'a'} {one}"
    sizes = {figures.size_bytes for figures in analysis.of_headline.values() if figures.count}
    size = sizes.pop() if len(sizes) == 1 else None
    if size is None or analysis.experiment.takes_payload:
        return words
    return f"{words} of {size_words(size)}"


def _s(seconds: float) -> str:
    return f"{significant(seconds)} s"


def _span(seconds: Iterable[float]) -> str:
    """`0.11 s`, `0.11 to 0.12 s`."""
    return f"{_range(seconds, significant)} s"


def _range(values: Iterable[float], show: Callable[[float], str]) -> str:
    """The smallest and the largest value, once if they look the same."""
    ordered = sorted(values)
    return " to ".join(dict.fromkeys(show(value) for value in (ordered[0], ordered[-1])))


def _around(estimates: Sequence[Estimate]) -> Estimate:
    """The interval that holds all of these."""
    low = min(estimate.low or 0 for estimate in estimates)
    high = max(estimate.high or 0 for estimate in estimates)
    return Estimate(estimates[0].value, low, high)


def _percent(share: float) -> str:
    return f"{100 * share:.3g}" if share < 0.1 else f"{100 * share:.0f}"


def _percents(share: Estimate) -> str:
    """The ends of an interval, rounded outwards as in the table."""
    low, high = (100 * (end or 0) for end in share[1:])
    low_words = rounded_down(low, 0 if low >= 10 else 1)
    return f"{low_words} to {rounded_up(high, 0 if high >= 10 else 1)} %"
