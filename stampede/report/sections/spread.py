"""How far the times lie apart: boxes, quantiles, intervals; inside the full-overlap window too, and by repeat."""

from stampede.phrases import percent, seconds, speed
from stampede.report.figures.seconds import Seconds
from stampede.report.grid import Column, Entry, Grid, interval, number
from stampede.report.sections.page import Block, Figures, Page


def render(page: Page) -> Block:
    """The section."""
    few = page.numbers["rules"]["minimum_for_p5_p95"]
    times = {key: group["seconds"].tolist() for key, group in page.run.done.by_cell().items() if len(group) < few}
    inside = any(cell["inside_window"]["count"] for cell in page.numbers["cells"])
    return page.block(
        "spread",
        "Distribution of times",
        [Seconds(page.subject, times)],
        distribution=_distribution(page),
        inside=_distribution(page, inside=True) if inside else None,
        repeats=_repeats(page),
    )


def _distribution(page: Page, inside: bool = False) -> Grid:
    """Quantiles, mean and intervals of every cell; with `inside` of those inside the full-overlap window."""
    lines = []
    for cell in page.numbers["cells"]:
        part = cell["inside_window"] if inside else cell
        found = part["seconds"]
        entries = [
            number(part["count"]),
            *(number(found[name], seconds(found[name])) for name in ("p5_s", "median_s")),
            interval(found["median_interval"]),
            number(found["mean_s"], seconds(found["mean_s"])),
            interval(found["mean_interval"]),
            *(number(found[name], seconds(found[name])) for name in ("p95_s", "p99_s")),
            interval(found["p99_interval"]),
        ]
        lines.append((cell, entries))
    which = "only those entirely within full overlap" if inside else "all of them"
    names = ("p5", "median", "95 %", "mean", "95 %", "p95", "p99", "95 %")
    columns = [Column("count"), *(Column(name, "s") for name in names)]
    caption = f"Seconds for one {page.experiment.operation[0]}: {which}"
    return page.grid("inside" if inside else "distribution", caption, columns, lines)


def _repeats(page: Page) -> Grid | None:
    """The repeats of each cell on their own; None when no cell has more than one."""
    lines = [
        (
            cell,
            [
                number(one["repeat"]),
                number(one["count"]),
                *(number(one[name], seconds(one[name])) for name in ("median_s", "mean_s")),
                *_overlap(one["parallelism"]),
            ],
        )
        for cell in page.numbers["cells"]
        if len(cell["repeats"]) > 1
        for one in cell["repeats"]
    ]
    columns = [Column("repeat"), Column("count"), Column("median", "s"), Column("mean", "s"),
               Column("peak concurrency"), Column("time at full N", "%"), Column("aggregate", "Mbit/s")]  # fmt: skip
    return page.grid("repeats", "Each repeat separately", columns, lines, more_heads=1) if lines else None


def _overlap(found: Figures | None) -> list[Entry]:
    if not found:
        return [number(None)] * 3
    at_n = found["share_of_download_time_at_full"]
    return [
        number(found["most_at_once"]),
        number(at_n, percent(at_n)),
        number(found["mbit_per_s"], speed(found["mbit_per_s"])),
    ]
