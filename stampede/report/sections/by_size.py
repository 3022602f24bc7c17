"""Which for objects of which size? Ratio of time and ratio of cost against it, and where each of them passes 1."""

from collections.abc import Iterator

from stampede.phrases import NOTHING, decimal_size, dollars, listed
from stampede.report import prices, published
from stampede.report.figures.by_size import BySize
from stampede.report.grid import Column, Entry, Grid, number, ratio
from stampede.report.sections.page import Block, Figures, Page
from stampede.report.statistics.by_size import VERBS, along, choice_of
from stampede.runs.cell_key import Key

A_MILLION = 1_000_000
# The record's word for the time that CreateSession took.
SESSION = "session_ms"
# More cells aren't named.
MOST_LACKING = 2


def render(page: Page) -> Block | None:
    """Nothing where nothing was to be written or read; what lacks where not both choices were measured."""
    series, lacking = page.numbers["by_size"], _lacking(page)
    if not series and not lacking:
        return None
    choice, _, base = choice_of(page.experiment)
    axis = next(one for one in page.experiment.axes if one.name == choice)
    ours = series[0]["ours"] if series else next((one for one in axis.allowed if one != base), "the other")
    theirs = list(_published(page))
    named = page.key(series[0]["points"][0]).value_words(choice) if series else ours
    compared = f"{'the ' * (named != ours)}{named}"
    return page.block(
        "by_size",
        "By object size",
        [BySize(page.subject, compared, base, [one[:3] for one in theirs])],
        ours=ours,
        sentences=[*map(_sentence, series), *lacking],
        published=_published_words(theirs),
        stand_ins=[one.sentence for one in page.run.stand_ins(map(page.key, page.numbers["cells"]))],
        storage=_storage(page, ours, base),
        sessions=_sessions(page),
        priced=any(point["usd"] for one in series for point in one["points"]),
        grid=_grid(page, series, named, base) if series else None,
        together=series[0]["together"] if series else 1,
        drift=page.drift([point for one in series for point in one["points"]]),
    )


def _lacking(page: Page) -> list[str]:
    """Which cells have nothing to be set against, in a sentence; none where all have."""
    choice, _, _ = choice_of(page.experiment)
    axis, moves = page.experiment.by_size.moves
    points = [point for one in page.numbers["by_size"] for point in one["points"]]
    paired = {page.key(cell) for point in points for cell in (point, point["base"])}
    alone = [key.words_without((choice,), page.shown_axes) for key in map(page.key, page.numbers["cells"])
             if key[axis] in moves and key not in paired]  # fmt: skip
    told = list(dict.fromkeys(alone))
    few = listed(told) if len(told) <= MOST_LACKING else f"{told[0]}, and {len(told) - 1} more"
    return [f"Without a counterpart, and so not compared: {few}."] if told else []


def _sessions(page: Page) -> str:
    """What opening a session took, which is in no time; empty where none was opened."""
    found = sorted(took for cell in page.numbers["cells"] if (took := page.figure_of(cell, SESSION)))
    if not found:
        return ""
    ends = dict.fromkeys(f"{took:.1f}" for took in (found[0], found[-1]))
    return f"CreateSession took {' to '.join(ends)} ms per message; it isn’t part of these times and costs."


def _sentence(one: Figures) -> str:
    cost = f"; {one['cost']['words']}" if one["cost"] else ""
    return f"{one['words']}: {one['time']['words']}{cost}."


def _published(page: Page) -> Iterator[tuple[str, int, float, str]]:
    """What was published of both, where one operation and size are: what it does, bytes, times as fast, the label."""
    choice, size, base = choice_of(page.experiment)
    axis, moves = page.experiment.by_size.moves
    groups: dict[tuple[object, ...], dict[object, published.Theirs]] = {}
    for one in published.every_cell(page.experiment):
        if one.key[axis] in moves and one.figures.get("avg_s"):
            groups.setdefault(one.key.without((choice, *along(page.experiment))), {})[one.key[choice]] = one
    for group in groups.values():
        for value, one in group.items():
            if value != base and base in group:
                key: Key = one.key
                faster = group[base].figures["avg_s"] / one.figures["avg_s"]
                yield moves[key[axis]], key[size], faster, one.published.label


def _published_words(theirs: list[tuple[str, int, float, str]]) -> str:
    if not theirs:
        return ""
    told = [f"{VERBS[moves]} {decimal_size(size_bytes)} was {faster:.2f} × as fast"
            for moves, size_bytes, faster, _ in theirs]  # fmt: skip
    return f"{theirs[0][3]}: {listed(told)}."


def _storage(page: Page, ours: str, base: str) -> str:
    """What keeping costs, which is no part of the ratio."""
    found = prices.tariffs(page.run)
    if ours not in found or base not in found:
        return ""
    kept = [found[name].gb_month_usd for name in (ours, base)]
    times = f", {kept[0] / kept[1]:.3g} times as much" if kept[1] else ""
    return f"Storage comes on top: a GB-month costs {kept[1]:g} USD on {base} and {kept[0]:g} USD on {ours}{times}."


def _grid(page: Page, series: list[Figures], ours: str, base: str) -> Grid:
    lines = [(point, _entries(point)) for one in series for point in one["points"]]
    columns = [Column("count"), Column("speedup", "×"), Column("95 %"), Column("per million", f"USD, {ours}"),
               Column("per million", f"USD, {base}"), Column("cost advantage", "×"), Column("95 %")]  # fmt: skip
    return page.grid("by-size", f"{ours} against {base}, by object size", columns, lines)


def _entries(point: Figures) -> list[Entry]:
    usd = point["usd"]
    spent = [number(usd[name], dollars(usd[name] * A_MILLION)) for name in ("ours", "base")] if usd else []
    return [
        number(point["count"]),
        *ratio(point["speedup"]),
        *(spent or [Entry(NOTHING)] * 2),
        *ratio(point["cheapness"]),
    ]
