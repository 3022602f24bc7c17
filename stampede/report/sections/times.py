"""The times of one operation: how far they lie apart, and whether a cold start takes longer."""

from stampede.phrases import percent, seconds, speed
from stampede.report.columns import count
from stampede.report.figures.cold_starts import ColdStarts
from stampede.report.figures.seconds import Seconds
from stampede.report.grid import Column, Grid, difference_s, interval, number
from stampede.report.sections.page import Block, Page
from stampede.report.statistics import drift, rules

QUANTILES = ("p5_s", "median_s", "mean_s", "p95_s", "p99_s")


def spread(page: Page) -> Block:
    """How far the times lie apart: boxes, quantiles, intervals; inside the full-overlap window too, and by repeat."""
    few = page.numbers["rules"]["minimum_for_p5_p95"]
    times = {key: group["seconds"].tolist() for key, group in page.run.done.items() if count(group) < few}
    inside = any(cell["inside_window"]["count"] for cell in page.numbers["cells"])
    return page.block(
        "spread",
        "Distribution of times",
        [Seconds(page.subject, times)],
        template="times",
        distribution=_distribution(page),
        inside=_distribution(page, inside=True) if inside else None,
        repeats=_repeats(page),
        minimum_for_mean_interval=rules.MINIMUM_FOR_MEAN_INTERVAL,
    )


def _distribution(page: Page, inside: bool = False) -> Grid:
    """Quantiles, mean and intervals of every cell; with `inside` of those inside the full-overlap window."""
    lines = []
    for cell in page.numbers["cells"]:
        part = cell["inside_window"] if inside else cell
        figures = part["seconds"]
        times = {name: number(figures[name], seconds(figures[name])) for name in QUANTILES}
        entries = [
            number(part["count"]),
            times["p5_s"],
            times["median_s"],
            interval(figures["median_interval"]),
            times["mean_s"],
            interval(figures["mean_interval"]),
            times["p95_s"],
            times["p99_s"],
            interval(figures["p99_interval"]),
        ]
        lines.append((cell, entries))
    which = "only those entirely within full overlap" if inside else "all of them"
    names = ("p5", "median", "95 %", "mean", "95 %", "p95", "p99", "95 %")
    columns = [Column("count"), *(Column(name, "s") for name in names)]
    caption = f"Seconds for one {page.experiment.operation[0]}: {which}"
    return page.grid("inside" if inside else "distribution", caption, columns, lines)


def _repeats(page: Page) -> Grid | None:
    """The repeats of each cell on their own; None when no cell has more than one."""
    lines = []
    for cell in page.numbers["cells"]:
        for repeat in cell["repeats"] if len(cell["repeats"]) > 1 else ():
            entries = [number(repeat["repeat"]), number(repeat["count"])]
            entries += [number(repeat[name], seconds(repeat[name])) for name in ("median_s", "mean_s")]
            overlap = repeat["parallelism"] or {}
            at_n, mbit_per_s = overlap.get("share_of_download_time_at_full"), overlap.get("mbit_per_s")
            entries += [number(overlap.get("most_at_once")), number(at_n, percent(at_n))]
            lines.append((cell, [*entries, number(mbit_per_s, speed(mbit_per_s))]))
    columns = [
        Column("repeat"),
        Column("count"),
        Column("median", "s"),
        Column("mean", "s"),
        Column("peak concurrency"),
        Column("time at full N", "%"),
        Column("aggregate", "Mbit/s"),
    ]
    return page.grid("repeats", "Each repeat separately", columns, lines, more_heads=1) if lines else None


def cold(page: Page) -> Block | None:
    """Does the first operation of a sandbox take longer than its later ones? None where no cell tells."""
    compared = [cell for cell in page.numbers["cells"] if cell["cold"]["why"] is None]
    differences = [cell["cold"]["difference_of_medians_s"] for cell in compared]
    if all(difference["low"] <= 0 <= difference["high"] for difference in differences):
        return None
    lines = []
    for cell, difference in zip(compared, differences, strict=True):
        figures = cell["cold"]
        medians = [figures[kind]["median_s"] for kind in ("cold", "warm")]
        entries = [number(figures[kind]["count"]) for kind in ("cold", "warm")]
        entries += [number(median, seconds(median)) for median in medians]
        lines.append((cell, [*entries, *difference_s(difference)]))
    columns = [
        Column("cold"),
        Column("warm"),
        Column("median cold", "s"),
        Column("median warm", "s"),
        Column("cold − warm", "s"),
        Column("95 %", "s"),
    ]
    # The rounds of a cell aren't those of its cold ones, which are of the first; every repeat has some.
    is_in_one_go = any(len(cell["repeats"]) < rules.MINIMUM_ROUNDS for cell in compared)
    return page.block(
        "cold",
        "Cold starts",
        [ColdStarts(page.subject)],
        template="times",
        grid=page.grid("cold", f"Cold against warm {page.experiment.operation[1]}", columns, lines),
        together=compared[0]["cold"]["together"],
        drift_within=drift.FIRST_AT_ONE_TIME if is_in_one_go else "",
    )
