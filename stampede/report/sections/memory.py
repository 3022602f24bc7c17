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
    lines = []
    for point in points:
        usd = point["usd_per_million"]
        entries = [number(point["count"]), number(point["lost"], looks="bad" if point["lost"] else "")]
        entries += [number(point["median_s"], seconds(point["median_s"])), interval(point["median_interval"])]
        entries += [number(point["billed_mean_s"], seconds(point["billed_mean_s"]))]
        entries.append(number(usd and usd["value"], dollars(usd and usd["value"])))
        lines.append((point, [*entries, *ratio(point["against_fastest"]), *ratio(point["against_cheapest"])]))
    columns = [
        Column("count"),
        Column("never succeeded"),
        Column("median", "s"),
        Column("95 %", "s"),
        Column("mean billed", "s"),
        Column("per million", "USD"),
        Column("against the fastest", "×"),
        Column("95 %"),
        Column("against the cheapest", "×"),
        Column("95 %"),
    ]
    return page.block(
        "memory",
        "Memory: time and cost",
        [Memory(page.subject)],
        sentences=[of_n["words"] for of_n in series],
        ignored="memory_size_mb" in ignored_axes(page.experiment.axes),
        grid=page.grid("memory-sizes", f"Time and cost of {page.experiment.operation[1]} by memory", columns, lines),
        priced=any(point["usd_per_million"] for point in points),
        logged=sum(point["billed_by_lambda"] for point in points),
        cold_starts="those of cold starts include the initialization, "
        + ("here the start of the function’s process" if page.run.target == "local" else "as AWS bills it"),
        counted=sum(point["count"] for point in points),
        together=series[0]["together"],
        drift=page.drift([point for point in points if point["against_fastest"]]),
    )
