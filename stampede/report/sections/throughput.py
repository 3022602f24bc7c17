"""Does throughput per function hold as N grows? Each N against the smallest, and every other scale against its own."""

from stampede.experiment import Compare, is_of_n
from stampede.phrases import listed, percent, speed
from stampede.report import published
from stampede.report.figures.aggregate_throughput import AggregateThroughput
from stampede.report.figures.picture import Picture
from stampede.report.figures.throughput_per_function import Theirs, ThroughputPerFunction
from stampede.report.grid import Column, Grid, level, number, ratio, words
from stampede.report.measured import rate
from stampede.report.sections.page import Block, Page
from stampede.report.statistics.headline import answerable


def throughput(page: Page) -> Block | None:
    """None without a time, and where N wasn't swept and the variants are ranked already."""
    subject, comparisons = page.subject, page.numbers["comparisons"]
    if not subject.series_with(lambda cell: cell["count"] or None):
        return None
    compares = [compare for compare in answerable(page.experiment) if comparisons.get(compare.name)]
    scales = [compare for compare in compares if compare.kind == "scale"]
    swept = len(subject.concurrencies) > 1
    if not swept and not scales and any(compare.kind == "choice" for compare in compares):
        return None
    # What a user's own function transfers isn't known.
    has_bytes = page.experiment.speed.how == "rate"
    pictures: list[Picture] = [AggregateThroughput(subject)] if has_bytes else []
    if has_bytes and sum(len(series.cells) for series in subject.series) > 1:
        pictures.insert(0, ThroughputPerFunction(subject, _like_published(page)))
    compared = [row for compare in scales for row in comparisons[compare.name]]
    return page.block(
        "throughput",
        "Throughput",
        pictures,
        points=_points(page) if swept else [],
        alone="" if swept else f"Only N = {subject.concurrencies[0]:,} ran, so there is no curve against N.",
        theirs=_published_words(page),
        grids=[_of_scale(page, compare, has_bytes) for compare in scales],
        has_bytes=has_bytes,
        drift=page.drift(compared),
        together=max((row["together"] for row in compared), default=1),
    )


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
    """The largest N against the smallest, for everything else that was swept, and up to where it held; what is unknown
    comes last."""
    points = []
    for scale in sorted(page.numbers["verdict"]["per_memory"], key=lambda scale: scale["level"] == "cant_tell"):
        far = scale["holds_up_to"]
        holds = f" It holds up to N = {far:,}." if far and scale["level"] != "holds" else ""
        points.append(scale["words"] + holds)
    return points


def _published_words(page: Page) -> str | None:
    """How the published means at the largest N of this run compare with those at its smallest; None when the write-up
    lacks one of them."""
    theirs, factors = published.table(page.experiment), []
    smallest, largest = page.subject.concurrencies[0], page.subject.concurrencies[-1]
    for series in page.subject.series:
        keys = [key for key, _ in series.cells if "avg_s" in theirs.get(key, (None, {}))[1]]
        if len(keys) > 1 and (keys[0].n, keys[-1].n) == (smallest, largest):
            first, last = (theirs[key][1]["avg_s"] for key in (keys[0], keys[-1]))
            factors.append(f"{last / first:.2f} with {series.label}")
    if not factors:
        return None
    return f"The published mean changes from N = {smallest:,} to N = {largest:,} by a factor of {listed(factors)}."


def _of_scale(page: Page, compare: Compare, has_bytes: bool) -> Grid:
    is_n = is_of_n(page.experiment, compare)
    label = next(axis.label for axis in page.experiment.axes if axis.name == compare.axes[0])
    columns = [Column("baseline", words=True), Column("median ×", "all"), Column("95 %")]
    if is_n:
        columns += [Column("median ×", "full overlap"), Column("95 %")]
    if is_n and has_bytes:
        columns += [Column("aggregate", "Mbit/s"), Column("of ideal", "%")]
    lines = []
    for row in page.numbers["comparisons"][compare.name]:
        effect, ideal = row["all"], row.get("throughput")
        entries = [words(page.key(row["base"]).words_of(compare.axes)), *ratio(effect["ratio_of_medians"])]
        if is_n:
            entries += ratio(row["inside_window"]["ratio_of_medians"])
        if is_n and has_bytes:
            entries.append(number(ideal["mbit_per_s"], speed(ideal["mbit_per_s"])))
            entries.append(number(ideal["share_of_ideal"], percent(ideal["share_of_ideal"])))
        lines.append((row, [*entries, level(effect["level"])]))
    caption = f"Each {label} against the smallest, everything else being equal"
    return page.grid(compare.name, caption, [*columns, Column("result", words=True)], lines)
