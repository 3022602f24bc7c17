"""Which for objects of which size? Ratio of time and ratio of cost against it, and where each of them passes 1."""

from collections.abc import Iterator

from stampede.phrases import NOTHING, decimal_size, dollars, listed, some
from stampede.report import published
from stampede.report.figures.by_size import BySize
from stampede.report.grid import Column, Entry, Grid, number, ratio
from stampede.report.sections.page import Block, Figures, Page
from stampede.report.statistics.by_size import VERBS, along, choice_of

A_MILLION = 1_000_000
# The record's word for the time that CreateSession took.
SESSION = "session_ms"
# More cells aren't named.
MOST_UNPAIRED = 2


def by_size(page: Page) -> Block | None:
    """None where nothing was written or read; sentences alone where only one of the two variants was."""
    series, unpaired = page.numbers["by_size"], _unpaired(page)
    if not series and not unpaired:
        return None
    choice, _, base = choice_of(page.experiment)
    axis = next(axis for axis in page.experiment.axes if axis.name == choice)
    ours = series[0]["ours"] if series else next((value for value in axis.allowed if value != base), "the other")
    theirs = list(_published(page))
    named = page.key(series[0]["points"][0]).value_words(choice) if series else ours
    compared = f"the {named}" if named != ours else named
    points = [point for line in series for point in line["points"]]
    return page.block(
        "by_size",
        "By object size",
        [BySize(page.subject, compared, base, [cell[:3] for cell in theirs])],
        sentences=[*map(_sentence, series), *unpaired],
        published=_published_words(theirs),
        stand_ins=[stand_in.sentence for stand_in in page.run.stand_ins(map(page.key, page.numbers["cells"]))],
        sessions=_sessions(page),
        priced=any(point["usd"] for point in points),
        grid=_grid(page, points, named, base) if series else None,
        together=series[0]["together"] if series else 1,
        drift=page.drift(points),
    )


def _unpaired(page: Page) -> list[str]:
    """Which cells have no counterpart, in a sentence; none where all have."""
    choice, _, _ = choice_of(page.experiment)
    axis, moves = page.experiment.by_size.moves
    points = [point for series in page.numbers["by_size"] for point in series["points"]]
    paired = {page.key(cell) for point in points for cell in (point, point["base"])}
    keys = [key for key in map(page.key, page.numbers["cells"]) if key[axis] in moves and key not in paired]
    names = list(dict.fromkeys(key.words_without((choice,), page.shown_axes) for key in keys))
    few = some(names, len(names) if len(names) <= MOST_UNPAIRED else 1)
    return [f"Without a counterpart, and so not compared: {few}."] if names else []


def _sessions(page: Page) -> str:
    """What opening a session took, which is in no time; empty where none was opened."""
    times_ms = sorted(took for cell in page.numbers["cells"] if (took := page.figure_of(cell, SESSION)))
    if not times_ms:
        return ""
    ends = dict.fromkeys(f"{took:.1f}" for took in (times_ms[0], times_ms[-1]))
    return f"CreateSession took {' to '.join(ends)} ms per message; it isn’t part of these times and costs."


def _sentence(series: Figures) -> str:
    cost = f"; {series['cost']['words']}" if series["cost"] else ""
    return f"{series['words']}: {series['time']['words']}{cost}."


def _published(page: Page) -> Iterator[tuple[str, int, float, str]]:
    """What was published of both, where one operation and size are: what it does, bytes, times as fast, the label."""
    choice, size, base = choice_of(page.experiment)
    axis, moves = page.experiment.by_size.moves
    groups: dict[tuple[object, ...], dict[object, published.Theirs]] = {}
    for cell in published.every_cell(page.experiment):
        if cell.key[axis] in moves and cell.figures.get("avg_s"):
            groups.setdefault(cell.key.without((choice, *along(page.experiment))), {})[cell.key[choice]] = cell
    for group in groups.values():
        for value, cell in group.items():
            if value != base and base in group:
                faster = group[base].figures["avg_s"] / cell.figures["avg_s"]
                yield moves[cell.key[axis]], cell.key[size], faster, cell.published.label


def _published_words(theirs: list[tuple[str, int, float, str]]) -> str:
    if not theirs:
        return ""
    figures = [
        f"{VERBS[moves]} {decimal_size(size_bytes)} was {faster:.2f} × as fast"
        for moves, size_bytes, faster, _ in theirs
    ]
    return f"{theirs[0][3]}: {listed(figures)}."


def _grid(page: Page, points: list[Figures], ours: str, base: str) -> Grid:
    lines = []
    for point in points:
        usd = point["usd"]
        spent = [number(usd[name], dollars(usd[name] * A_MILLION)) for name in ("ours", "base")] if usd else []
        entries = [number(point["count"]), *ratio(point["speedup"])]
        costs = [*(spent or [Entry(NOTHING)] * 2), *ratio(point["cheapness"])] if page.run.target == "aws" else []
        lines.append((point, [*entries, *costs]))
    columns = [Column("count"), Column("speedup", "×"), Column("95 %")]
    if page.run.target == "aws":
        columns += [Column("per million", f"USD, {name}") for name in (ours, base)]
        columns += [Column("cost advantage", "×"), Column("95 %")]
    return page.grid("by-size", f"{ours} against {base}, by object size", columns, lines)
