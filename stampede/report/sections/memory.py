"""Which memory? Time and cost against it at each N, and which size is the cheapest, the fastest, the balanced one."""

from stampede.cell import ignored_axes
from stampede.phrases import dollars, seconds
from stampede.report.figures.memory import Memory
from stampede.report.grid import Column, interval, number, ratio
from stampede.report.sections.page import Block, Page


def memory(page: Page) -> Block | None:
    """None where no series has two memory sizes."""
    series = page.numbers["memory"]
    points = [point for of_n in series for point in of_n["points"]]
    if not points:
        return None
    is_aws, lines = page.run.target == "aws", []
    for point in points:
        entries = [number(point["count"]), number(point["lost"], looks="bad" if point["lost"] else "")]
        entries += [number(point["median_s"], seconds(point["median_s"])), interval(point["median_interval"])]
        entries += ratio(point["against_fastest"])
        if is_aws:
            usd = point["usd_per_million"]
            entries += [number(point["billed_mean_s"], seconds(point["billed_mean_s"]))]
            entries += [number(usd and usd["value"], dollars(usd and usd["value"])), *ratio(point["against_cheapest"])]
        lines.append((point, entries))
    columns = [Column("count"), Column("never succeeded"), Column("median", "s"), Column("95 %", "s")]
    columns += [Column("against the fastest", "×"), Column("95 %")]
    if is_aws:
        columns += [Column("mean billed", "s"), Column("per million", "USD")]
        columns += [Column("against the cheapest", "×"), Column("95 %")]
    what = "Time and cost" if is_aws else "Time"
    return page.block(
        "memory",
        f"Memory: {what.lower()}",
        [Memory(page.subject)],
        sentences=[of_n["words"] for of_n in series],
        ignored="memory_size_mb" in ignored_axes(page.experiment.axes),
        grid=page.grid("memory-sizes", f"{what} of {page.experiment.operation[1]} by memory", columns, lines),
        priced=any(point["usd_per_million"] for point in points),
        logged=sum(point["billed_by_lambda"] for point in points),
        counted=sum(point["count"] for point in points),
        together=series[0]["together"],
        drift=page.drift([point for point in points if point["against_fastest"]]),
    )
