"""Did N really run at once? What overlap each cell reached, and what all its functions got together."""

from stampede.phrases import percent, speed
from stampede.report.figures.overlap_timeline import OverlapTimeline
from stampede.report.grid import Column, Entry, Grid, number
from stampede.report.sections.page import Block, Figures, Page


def overlap(page: Page) -> Block:
    """The number of functions over time, in a picture and as figures."""
    timeline = OverlapTimeline(page.subject)
    return page.block(
        "overlap",
        "Concurrency reached",
        [timeline],
        left_out=timeline.left_out(),
        grid=_grid(page),
        moves=_moves(page),
    )


def _grid(page: Page) -> Grid:
    columns = [
        Column("peak concurrency"),
        Column("mean concurrency"),
        Column("time to N", "s"),
        Column("full overlap", "s"),
        Column("elapsed", "s"),
        Column("elapsed at full N", "%"),
        Column("time at full N", f"% of {page.experiment.operation[0]} time"),
        Column("aggregate", "Mbit/s"),
        Column("in full overlap", "Mbit/s"),
    ]
    caption = f"Concurrency reached, and the aggregate throughput of all {page.experiment.worker[1]}"
    lines = [(cell, _entries(cell["parallelism"], page.key(cell).n)) for cell in page.numbers["cells"]]
    if not _moves(page):
        columns, caption = columns[:-2], "Concurrency reached"
        lines = [(cell, entries[:-2]) for cell, entries in lines]
    return page.grid("parallelism", caption, columns, lines)


def _moves(page: Page) -> bool:
    """Whether its operations are known to transfer bytes: what a user's own function does isn't."""
    return page.experiment.speed.how != "per_second"


def _entries(reached: Figures | None, n: int) -> list[Entry]:
    if not reached:
        return [number(None)] * 9
    window = reached["window"] or {}
    return [
        number(reached["most_at_once"], looks="short" if reached["most_at_once"] < n else ""),
        number(reached["mean_at_once"], f"{reached['mean_at_once']:,.1f}"),
        _from_ms(reached["time_to_full_ms"]),
        _from_ms(window.get("length_ms")),
        _from_ms(reached["span_ms"]),
        number(reached["share_of_span_at_full"], percent(reached["share_of_span_at_full"])),
        number(reached["share_of_download_time_at_full"], percent(reached["share_of_download_time_at_full"])),
        number(reached["mbit_per_s"], speed(reached["mbit_per_s"])),
        number(window.get("mbit_per_s"), speed(window.get("mbit_per_s"))),
    ]


def _from_ms(value_ms: float | None) -> Entry:
    return number(value_ms, None if value_ms is None else f"{value_ms / 1000:,.1f}")
