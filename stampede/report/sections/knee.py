"""Up to where does more give a gain? The knee of each series, beside the published one."""

from stampede.phrases import ratios
from stampede.report import published
from stampede.report.figures.knee import MOST_SERIES, Knee
from stampede.report.grid import Column, Grid, interval, number, ratio, words
from stampede.report.sections.page import Block, Figures, Page
from stampede.report.statistics.knee import KNEE, SCALES


def knee(page: Page) -> Block | None:
    """None where the axis wasn't swept."""
    series = page.numbers.get("knees", {}).get("series")
    if not series or page.experiment.knee is None:
        return None
    name, what = page.experiment.knee
    return page.block(
        "knee",
        f"Gain from {what}",
        [Knee(page.subject, published.every_cell(page.experiment))],
        sentences=[_sentence(page, name, line, alone=len(series) == 1) for line in series],
        more=max(0, len(series) - MOST_SERIES),
        grid=_grid(page, name, series),
        rule=page.numbers["knees"]["rule"],
        drift=page.drift(series),
    )


def _sentence(page: Page, name: str, series: Figures, *, alone: bool) -> str:
    text = series["words"] if alone else f"{series['place']}: {series['words']}"
    text, gained = f"{text[0].upper()}{text[1:]}.", series["against_smallest"]
    is_said = gained and gained.items() <= (series["best_beyond"] or {}).items()
    if series["level"] != KNEE or not gained or is_said:
        return text
    values = (series["points"][0][name], series["knee"])
    first, here = (page.key({**series, name: value}).value_words(name) for value in values)
    span = "" if gained["low"] is None else f" ({ratios(gained)})"
    return f"{text} {here[0].upper()}{here[1:]} gives {gained['value']:.2f} ×{span} the throughput of {first}."


def _grid(page: Page, name: str, series: list[Figures]) -> Grid:
    label, unit = next(axis.label for axis in page.experiment.axes if axis.name == name), page.experiment.speed.unit
    lines = []
    for line in series:
        for point in line["points"]:
            entries = [
                number(point["count"]),
                number(point["median"], f"{point['median']:,.1f}"),
                interval(point["interval"], "{:,.1f}"),
                *ratio(point["against_smallest"]),
                words(_where(point[name], line)),
            ]
            lines.append((line | {name: point[name]}, entries))
    columns = [
        Column("count"),
        Column("median", unit),
        Column("95 %", unit),
        Column("speedup", "×"),
        Column("95 %"),
        Column("result", words=True),
    ]
    return page.grid("knees", f"{unit} by {label}, and relative to the smallest of its series", columns, lines)


def _where(value: int, series: Figures) -> str:
    """How a point lies to the knee."""
    if series["range"] is None:
        return ""
    low, high = series["range"]["low"], series["range"]["high"]
    if value < low:
        return "below the knee"
    if high is not None and value > high:
        return "beyond the knee"
    if series["level"] == SCALES:
        return "best"
    return "knee" if low == high else "possibly the knee"
