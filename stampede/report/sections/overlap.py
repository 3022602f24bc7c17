"""Did N really run at once? What overlap each cell reached, and what all its functions got together."""

from stampede.phrases import percent, speed
from stampede.report.figures.overlap_timeline import OverlapTimeline
from stampede.report.grid import Column, Entry, Grid, number
from stampede.report.sections.page import Block, Figures, Page


def render(page: Page) -> Block:
    """The section."""
    timeline = OverlapTimeline(page.subject)
    return page.block(
        "overlap",
        "Concurrency reached",
        [timeline],
        left_out=timeline.left_out(),
        grid=_grid(page),
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
    lines = [(cell, _overlap(cell["parallelism"], page.key(cell).n)) for cell in page.numbers["cells"]]
    return page.grid("parallelism", caption, columns, lines)


def _overlap(found: Figures | None, n: int) -> list[Entry]:
    if not found:
        return [number(None)] * 9
    window = found["window"] or {}
    return [
        number(found["most_at_once"], looks="short" if found["most_at_once"] < n else ""),
        number(found["mean_at_once"], f"{found['mean_at_once']:,.1f}"),
        _from_ms(found["time_to_full_ms"]),
        _from_ms(window.get("length_ms")),
        _from_ms(found["span_ms"]),
        number(found["share_of_span_at_full"], percent(found["share_of_span_at_full"])),
        number(found["share_of_download_time_at_full"], percent(found["share_of_download_time_at_full"])),
        number(found["mbit_per_s"], speed(found["mbit_per_s"])),
        number(window.get("mbit_per_s"), speed(window.get("mbit_per_s"))),
    ]


def _from_ms(value_ms: float | None) -> Entry:
    return number(value_ms, None if value_ms is None else f"{value_ms / 1000:,.1f}")
