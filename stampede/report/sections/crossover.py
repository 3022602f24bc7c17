"""Which to choose for the size of one's files: where the lines of two choices cross."""

from stampede.phrases import listed, size_words
from stampede.report.figures.crossings import Crossings
from stampede.report.sections.page import Block, Page
from stampede.report.statistics import rules
from stampede.report.statistics.crossover import Place, places
from stampede.runs.cell_key import STAND_IN


def render(page: Page) -> Block | None:
    """Nothing where no choice was measured at two sizes."""
    compare = next((one for one in page.experiment.compare if one.kind == "choice"), None)
    found = places(page.experiment, compare, page.numbers["cells"]) if compare else []
    if not found:
        return None
    return page.block(
        "crossover",
        "By file size",
        [Crossings(page.subject, found)],
        sentences=[one for place in found for one in _sentences(place)],
        drift=page.drift(page.numbers["comparisons"].get(compare.name, ())),
    )


def _sentences(place: Place) -> list[str]:
    """What can be said of one place: which is faster up to which size, which is the fastest at all, or why neither."""
    start = f"With {place.words},"
    found = [
        f"{start} {below} is faster than {above} up to about {size_words(round(size_bytes))} per file, and {above} is "
        "faster beyond that."
        for size_bytes, below, above in place.crossings
    ]
    if place.fastest:
        sizes = listed([size_words(round(size)) for size, _ in place.lines[place.fastest]])
        found.append(f"{start} {place.fastest} is the fastest at both sizes, {sizes} per file.")
    if not found and place.compared:
        found.append(f"{start} no variant is clearly the fastest at both sizes.")
    return found or [f"{start} {_why_unknown(place)}"]


def _why_unknown(place: Place) -> str:
    if sum(not name.endswith(STAND_IN) for name in place.lines) < 2:
        return "stand-ins ran, so this says nothing about which is faster."
    needed = rules.MINIMUM_FOR_INTERVAL
    return f"it is unknown which is faster: each median needs {needed} measurements for an interval."
