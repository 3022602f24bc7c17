"""Which to choose for the size of one's files: where the lines of two choices cross."""

from report.cell_key import STAND_IN
from report.figures import crossings, picture
from report.phrases import size_words
from report.sections.page import Block, Page
from report.statistics.crossover import Place, places


def render(page: Page) -> Block | None:
    """Nothing where no choice was measured at two sizes."""
    compare = next((one for one in page.experiment.compare if one.kind == "choice"), None)
    found = places(page.experiment, compare, page.numbers["cells"]) if compare else []
    if not found:
        return None
    drawn = picture(crossings, crossings.draw(found), page.drawn)
    sentences = [sentence for place in found for sentence in _sentences(place)]
    sentences.append("These are means; whether such a difference is measurable is under Ranking.")
    return page.block("crossover", "By file size", [drawn], sentences=sentences)


def _sentences(place: Place) -> list[str]:
    def named(name: str) -> str:
        return f"the {name}" if name.endswith(STAND_IN) else name

    if place.crossings:
        return [
            f"With {place.words}, {named(below)} is faster up to about {size_words(round(size_bytes))} per file, and "
            f"{named(above)} beyond that."
            for size_bytes, below, above in place.crossings
        ]
    ranked = sorted(place.lines, key=lambda name: -min(speed for _, speed in place.lines[name]))
    sizes = [size for size, _ in place.lines[ranked[0]]]
    between = f"{size_words(round(sizes[0]))} and {size_words(round(sizes[-1]))}"
    return [f"With {place.words}, {named(ranked[0])} is faster at both sizes, {between} per file."]
