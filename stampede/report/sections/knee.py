"""Up to where does more give a gain? The knee of each series, beside the published one."""

from stampede.report import published
from stampede.report.figures.knee import MOST_SERIES, Knee
from stampede.report.grid import Column, Grid, interval, number, ratio, words
from stampede.report.sections.page import Block, Figures, Page
from stampede.report.statistics.knee import KNEE, SCALES


def render(page: Page) -> Block | None:
    """Nothing where the axis wasn't swept."""
    found = page.numbers.get("knees", {}).get("series")
    if not found or page.experiment.knee is None:
        return None
    name, what = page.experiment.knee
    return page.block(
        "knee",
        f"Gain from {what}",
        [Knee(page.subject, published.every_cell(page.experiment))],
        sentences=[_sentence(page, name, one, alone=len(found) == 1) for one in found],
        more=max(0, len(found) - MOST_SERIES),
        grid=_grid(page, name, found),
        rule=page.numbers["knees"]["rule"],
        drift=page.drift(found),
    )


def _sentence(page: Page, name: str, one: Figures, *, alone: bool) -> str:
    told, gained = one["words"] if alone else f"{one['place']}: {one['words']}", one["against_smallest"]
    if one["level"] != KNEE or not gained:
        return f"{told[0].upper()}{told[1:]}."
    first, here = (page.key({**one, name: value}).value_words(name) for value in (one["points"][0][name], one["knee"]))
    gain = f"{here[0].upper()}{here[1:]} gives {gained['value']:.3g} × the throughput of {first}."
    return f"{told[0].upper()}{told[1:]}. {gain}"


def _grid(page: Page, name: str, found: list[Figures]) -> Grid:
    label, unit = next(axis.label for axis in page.experiment.axes if axis.name == name), page.experiment.speed.unit
    lines = []
    for one in found:
        for point in one["points"]:
            entries = [
                number(point["count"]),
                number(point["median"], f"{point['median']:,.1f}"),
                interval(point["interval"], "{:,.1f}"),
                *ratio(point["against_smallest"]),
                words(_where(point[name], one)),
            ]
            lines.append((one | {name: point[name]}, entries))
    columns = [Column("count"), Column("median", unit), Column("95 %", unit), Column("speedup", "×"), Column("95 %"),
               Column("result", words=True)]  # fmt: skip
    return page.grid("knees", f"{unit} by {label}, and relative to the smallest of its series", columns, lines)


def _where(value: int, one: Figures) -> str:
    """How a point lies to the knee."""
    if one["range"] is None:
        return ""
    low, high = one["range"]["low"], one["range"]["high"]
    if value < low:
        return "below the knee"
    if high is not None and value > high:
        return "beyond the knee"
    if one["level"] == SCALES:
        return "best"
    return "knee" if low == high else "possibly the knee"
