"""Did N really run at once? What overlap each cell reached, and what all its functions got together."""

from stampede.phrases import percent, quantity, speed
from stampede.report.figures.overlap_timeline import OverlapTimeline
from stampede.report.grid import Column, Entry, Grid, number
from stampede.report.sections.page import Block, Figures, Page


def overlap(page: Page) -> Block:
    """The number of functions over time, in a picture and as figures."""
    timeline = OverlapTimeline(page.subject, page.split_by, page.has_queries)
    return page.block(
        "overlap",
        "Concurrency reached",
        [timeline],
        left_out=timeline.left_out(),
        grid=_grid(page),
        counted="attempts" if page.experiment.takes_payload else "bytes",
    )


def _grid(page: Page) -> Grid:
    operation, operations = page.experiment.operation
    speeds = [Column("aggregate", "Mbit/s"), Column("in full overlap", "Mbit/s")]
    if page.experiment.takes_payload:  # bytes are those of the payload alone
        speeds = [Column("aggregate", f"{operations}/s")]
    columns = [
        Column("peak concurrency"),
        Column("mean concurrency"),
        Column("time to N", "s"),
        Column("full overlap", "s"),
        Column("elapsed", "s"),
        Column("elapsed at full N", "%"),
        Column("time at full N", f"% of {operation} time"),
        *speeds,
    ]
    caption = f"Concurrency reached, and the aggregate throughput of all {page.experiment.worker[1]}"
    lines = []
    for cell in page.numbers["cells"]:
        reached, n = cell["parallelism"], page.key(cell).n
        entries = [*_entries(reached, n), *_speeds(reached, page)] if reached else [number(None)] * len(columns)
        lines.append((cell, entries))
    return page.grid("parallelism", caption, columns, lines)


def _entries(reached: Figures, n: int) -> list[Entry]:
    window = reached["window"] or {}
    return [
        number(reached["most_at_once"], looks="short" if reached["most_at_once"] < n else ""),
        number(reached["mean_at_once"], f"{reached['mean_at_once']:,.1f}"),
        _from_ms(reached["time_to_full_ms"]),
        _from_ms(window.get("length_ms")),
        _from_ms(reached["span_ms"]),
        number(reached["share_of_span_at_full"], percent(reached["share_of_span_at_full"])),
        number(reached["share_of_download_time_at_full"], percent(reached["share_of_download_time_at_full"])),
    ]


def _speeds(reached: Figures, page: Page) -> list[Entry]:
    if page.experiment.takes_payload:
        per_s = reached["attempts"] / (reached["span_ms"] / 1000)
        return [number(per_s, quantity(per_s))]
    figures = (reached["mbit_per_s"], (reached["window"] or {}).get("mbit_per_s"))
    return [number(mbit_per_s, speed(mbit_per_s)) for mbit_per_s in figures]


def _from_ms(value_ms: float | None) -> Entry:
    return number(value_ms, None if value_ms is None else f"{value_ms / 1000:,.1f}")
