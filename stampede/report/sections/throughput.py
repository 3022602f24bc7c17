"""Does throughput per function hold as N grows? Each N against the smallest, and every other scale against its own."""

from functools import partial

from stampede.experiment.declaration import Compare, is_of_n
from stampede.phrases import listed, percent, speed
from stampede.report import published
from stampede.report.figures.aggregate_throughput import AggregateThroughput
from stampede.report.figures.throughput_per_function import Theirs, ThroughputPerFunction
from stampede.report.grid import Column, Grid, level, number, ratio, words
from stampede.report.measured import rate
from stampede.report.sections.page import Block, Page
from stampede.report.statistics.headline import answerable

RATIO = (Column("Cliff’s delta"), Column("95 %"))


def render(page: Page) -> Block | None:
    """Nothing without a time, nor where N wasn't swept and the ways are ranked already."""
    if not page.subject.series_with(lambda cell: cell["count"] or None):
        return None
    grids, swept = list(filter(None, map(partial(_of_scale, page), answerable(page.experiment)))), _is_swept(page)
    if not swept and not grids and any(compare.kind == "choice" and page.numbers["comparisons"].get(compare.name)
                                       for compare in answerable(page.experiment)):  # fmt: skip
        return None
    is_single = sum(len(one.cells) for one in page.subject.series) == 1
    pictures = [] if is_single else [ThroughputPerFunction(page.subject, _like_published(page))]
    points = _points(page) if swept else []
    scales = [one.name for one in answerable(page.experiment) if one.kind == "scale"]
    compared = [one for name in scales for one in page.numbers["comparisons"].get(name, ())]
    return page.block(
        "throughput",
        "Throughput",
        [*pictures, AggregateThroughput(page.subject)],
        points=points,
        alone=_alone(page),
        theirs=_published_words(page),
        grids=grids,
        drift=page.drift(compared),
        together=max((one["together"] for one in compared), default=1),
    )


def _alone(page: Page) -> str:
    """Why there is no curve; empty where there is one."""
    if _is_swept(page):
        return ""
    [n] = page.subject.concurrencies
    return f"Only N = {n:,} ran, so there is no curve against N."


def _is_swept(page: Page) -> bool:
    return len(page.subject.concurrencies) > 1


def _like_published(page: Page) -> Theirs:
    """The published speeds, where this run can be laid beside them: on AWS, with the same object."""
    if page.run.target != "aws":
        return {}
    return {
        key: (table.label, rate(table.object_bytes, figures["avg_s"]))
        for key, (table, figures) in published.table(page.experiment).items()
        if table.object_bytes == page.run.object_bytes and "avg_s" in figures
    }


def _points(page: Page) -> list[str]:
    """The largest N against the smallest, for everything else that was swept, and as far as it held."""
    points = []
    for one in page.numbers["verdict"]["per_memory"]:
        far = one["holds_up_to"]
        holds = f" It holds up to N = {far:,}." if far and one["level"] != "holds" else ""
        points.append(one["words"] + holds)
    return points


def _published_words(page: Page) -> str | None:
    """How the published means at the largest N of this run compare with those at its smallest; None when the write-up
    lacks one of them."""
    theirs = published.table(page.experiment)
    ends = []
    for one in page.subject.series:
        keys = [key for key, _ in one.cells if "avg_s" in theirs.get(key, (None, {}))[1]]
        if len(keys) > 1 and (keys[0].n, keys[-1].n) == (page.subject.concurrencies[0], page.subject.concurrencies[-1]):
            first, last = (theirs[key][1]["avg_s"] for key in (keys[0], keys[-1]))
            ends.append(f"{last / first:.2f} with {one.label}")
    if not ends:
        return None
    first, last = page.subject.concurrencies[0], page.subject.concurrencies[-1]
    return f"The published mean changes from N = {first:,} to N = {last:,} by a factor of {listed(ends)}."


def _of_scale(page: Page, compare: Compare) -> Grid | None:
    rows = page.numbers["comparisons"].get(compare.name, ())
    if compare.kind != "scale" or not rows:
        return None
    is_n = is_of_n(page.experiment, compare)
    label = next(axis.label for axis in page.experiment.axes if axis.name == compare.axes[0])
    columns = [Column("baseline", words=True), Column("median ×", "all"), Column("95 %")]
    if is_n:
        columns += [Column("median ×", "full overlap"), Column("95 %"), *RATIO, Column("aggregate", "Mbit/s"),
                    Column("of ideal", "%")]  # fmt: skip
    else:
        columns += RATIO
    lines = []
    for one in rows:
        found = one["all"]
        entries = [words(page.key(one["base"]).words_of(compare.axes)), *ratio(found["ratio_of_medians"])]
        if is_n:
            ideal = one["throughput"]
            entries += ratio(one["inside_window"]["ratio_of_medians"])
            entries += ratio(found["cliffs_delta"], "{:+.2f}")
            entries += [
                number(ideal["mbit_per_s"], speed(ideal["mbit_per_s"])),
                number(ideal["share_of_ideal"], percent(ideal["share_of_ideal"])),
            ]
        else:
            entries += ratio(found["cliffs_delta"], "{:+.2f}")
        lines.append((one, [*entries, level(found["level"])]))
    caption = f"Each {label} against the smallest, everything else being equal"
    return page.grid(compare.name, caption, [*columns, Column("result", words=True)], lines)
