"""Which variant is the fastest? Each against one of them, first reads beside repeats, and where two lines cross."""

from collections.abc import Sequence

from stampede.experiment import Compare, Metric
from stampede.phrases import listed, size_words
from stampede.report.figures.choices import Choices
from stampede.report.figures.crossings import Crossings
from stampede.report.figures.pairs import Pairs
from stampede.report.grid import Column, Entry, Grid, as_fast, level, number, words
from stampede.report.sections.page import Block, Figures, Page
from stampede.report.statistics import rules
from stampede.report.statistics.comparisons import took_words
from stampede.report.statistics.crossover import Place, places
from stampede.report.statistics.drift import between_cells
from stampede.report.statistics.headline import answerable


def choice(page: Page) -> Block | None:
    """None where only one variant ran."""
    compares = [
        compare
        for compare in answerable(page.experiment)
        if compare.section == "choice" == compare.kind and page.numbers["comparisons"].get(compare.name)
    ]
    if not compares:
        return None
    pictures = [
        Choices(page.subject, compare, ending="" if at == 0 else f"-{compare.name}")
        for at, compare in enumerate(compares)
    ]
    rows = [(compare, row) for compare in compares for row in page.numbers["comparisons"][compare.name]]
    most = max(page.key(row).n for _, row in rows)
    at_most = [(compare, row) for compare, row in rows if page.key(row).n == most]
    others = [(compare, row) for compare, row in rows if page.key(row).n != most]
    return page.block(
        "choice",
        "Ranking",
        pictures,
        template="variants",
        grid=_ranking(page, "choice-most", at_most),
        others=_ranking(page, "choice-others", others) if others else None,
        together=rows[0][1]["together"],
        spent=[metric.label for metric in _spent(page)],
        is_crowded=most > 1 and not all(between_cells(compare, page.experiment) for compare in compares),
        drift=page.drift([row for compare, row in rows if between_cells(compare, page.experiment)]),
        drift_within=page.drift_within([row for compare, row in rows if not between_cells(compare, page.experiment)]),
    )


def _spent(page: Page) -> list[Metric]:
    return [metric for metric in page.experiment.metrics if metric.how == "per_gib"]


def _ranking(page: Page, name: str, rows: Sequence[tuple[Compare, Figures]]) -> Grid:
    cells = {page.key(cell): cell for cell in page.numbers["cells"]}
    bases = {page.key(row["base"]).words_of(compare.axes) for compare, row in rows}
    lines = []
    for compare, row in rows:
        base, effect = page.key(row["base"]), row["all"]
        entries = [words(base.words_of(compare.axes))] if len(bases) > 1 else []
        entries += as_fast(effect["ratio_of_medians"])
        for metric in _spent(page):
            ours, theirs = (cells[key]["client"][metric.name] for key in (page.key(row), base))
            factor = ours / theirs if ours and theirs else None
            entries.append(number(factor, factor and f"{factor:.2f}"))
        lines.append((row, [*entries, level(effect["level"]), _against_fastest(row)]))
    columns = [
        *([Column("baseline", words=True)] if len(bases) > 1 else []),
        Column("speedup", "×"),
        Column("95 %"),
        *(Column(f"{metric.label} per GiB", "×") for metric in _spent(page)),
        Column("result", words=True),
        Column("against the fastest", words=True),
    ]
    baseline = "its baseline" if len(bases) > 1 else bases.pop()
    # What records alone tell apart differs in when it ran, too.
    is_alike = all(between_cells(compare, page.experiment) for compare, _ in rows)
    alike = ", everything else being equal" if is_alike else ""
    return page.grid(name, f"Each against {baseline}{alike}", columns, lines)


def _against_fastest(row: Figures) -> Entry:
    fastest = row["against_fastest"]
    if fastest is None:
        return words("smallest median" if row["all"]["level"] != "cant_tell" else "not comparable")
    took = fastest["ratio_of_medians"]
    return words("not comparable" if took is None else f"{took_words(took)} as long")


def reads(page: Page) -> Block | None:
    """First reads and repeats of every cell; None where only one of them was measured."""
    compare = next(compare for compare in page.experiment.compare if compare.section == "reads")
    picture = Pairs(page.subject, compare)
    if picture.figure is None:
        return None
    rows = page.numbers["comparisons"].get(compare.name, ())
    return page.block(
        "reads",
        "First and repeat reads",
        [picture],
        template="variants",
        sentences=[row["all"]["words"] for row in rows if row["all"]["level"] != "cant_tell"],
        together=rows[0]["together"] if rows else 1,
        is_crowded=any(page.key(row).n > 1 for row in rows),
        drift_within=page.drift_within(rows),
    )


def crossover(page: Page) -> Block | None:
    """Which to choose for the size of one's files; None where no variant was measured at two sizes."""
    compare = next((compare for compare in page.experiment.compare if compare.kind == "choice"), None)
    measured = places(page.experiment, compare, page.numbers["cells"]) if compare else []
    if not measured:
        return None
    return page.block(
        "crossover",
        "By file size",
        [Crossings(page.subject, measured)],
        template="variants",
        sentences=[sentence for place in measured for sentence in crossover_sentences(place)],
        drift=page.drift(page.numbers["comparisons"].get(compare.name, ())),
    )


def crossover_sentences(place: Place) -> list[str]:
    """What is known of one place: which is faster at which size, which is the fastest at all, or why neither is."""
    start = f"With {place.words},"
    sentences = []
    for size_bytes, below, above in place.crossings:
        small, large = (size_words(round(size)) for size, _ in (place.lines[below][0], place.lines[below][-1]))
        # A straight line between two sizes: more digits would be nobody's.
        crossing = f"the lines between these sizes cross at about {size_words(round(size_bytes), digits=2)}"
        sentences.append(
            f"{start} {below} is faster than {above} at {small} per file, and {above} at {large}; {crossing}."
        )
    if place.fastest:
        sizes = listed([size_words(round(size)) for size, _ in place.lines[place.fastest]])
        sentences.append(f"{start} {place.fastest} is the fastest at both sizes, {sizes} per file.")
    if not sentences and place.compared:
        sentences.append(f"{start} no variant is clearly the fastest at both sizes.")
    if not sentences and place.originals < 2:
        sentences.append(f"{start} a stand-in ran, so this says nothing about which is faster.")
    needed = rules.MINIMUM_FOR_INTERVAL
    unknown = f"{start} it is unknown which is faster: each median needs {needed} measurements for an interval."
    return sentences or [unknown]
