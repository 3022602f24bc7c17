"""The tables of cells that the page shows from the numbers of statistics.json; nothing is computed here."""

from collections.abc import Mapping
from typing import Any

from report.grid import BLANK, MEMORY, Column, Entry, Grid, N, Row, coordinates, number, single_lines, words
from report.phrases import between, seconds, share, speed

Numbers = Mapping[str, Any]

LEVELS = {
    "holds": "✓ holds",
    "slower": "▼ slower",
    "faster": "▲ faster",
    "unclear": "? unclear",
    "cant_tell": "? can’t tell",
    "mixed": "± mixed",
}


def distribution(numbers: Numbers, inside: bool = False) -> Grid:
    """Quantiles, mean and intervals of every cell; with `inside` of the downloads inside the full-overlap window."""
    rows = []
    for cell in numbers["cells"]:
        part = cell["inside_window"] if inside else cell
        found = part["seconds"]
        rows.append(
            [
                *_named(cell),
                number(part["count"]),
                *(number(found[name], seconds(found[name])) for name in ("p5_s", "median_s")),
                _interval(found["median_interval"]),
                number(found["mean_s"], seconds(found["mean_s"])),
                _interval(found["mean_interval"]),
                *(number(found[name], seconds(found[name])) for name in ("p95_s", "p99_s")),
                _interval(found["p99_interval"]),
            ]
        )
    which = "only those entirely inside the full-overlap window" if inside else "all of them"
    names = ("p5", "median", "95 %", "mean", "95 %", "p95", "p99", "95 %")
    columns = [MEMORY, N, Column("count"), *(Column(name, "s") for name in names)]
    name = "inside" if inside else "distribution"
    return Grid(name, f"Seconds for one download: {which}", columns, single_lines(rows))


def against_smallest(numbers: Numbers) -> Grid:
    """Every N against the smallest with the same memory: ratio, effect size, share of the ideal aggregate."""
    rows = []
    for one in numbers["comparisons"]["against_smallest_n"]:
        found, ideal = one["all"], one["throughput"]
        rows.append(
            [
                *_named(one),
                number(one["base"]["concurrency"]),
                *_ratio(found["ratio_of_medians"]),
                *_ratio(one["inside_window"]["ratio_of_medians"]),
                *_ratio(found["cliffs_delta"], "{:+.2f}"),
                number(ideal["mbit_per_s"], speed(ideal["mbit_per_s"])),
                number(ideal["share_of_ideal"], share(ideal["share_of_ideal"])),
                words(LEVELS[found["level"]], found["level"]),
            ]
        )
    columns = [
        MEMORY,
        N,
        Column("against", "N"),
        Column("median ×", "all"),
        Column("95 %"),
        Column("median ×", "in window"),
        Column("95 %"),
        Column("Cliff’s delta"),
        Column("95 %"),
        Column("together", "Mbit/s"),
        Column("of ideal"),
        Column("per function", words=True),
    ]
    return Grid("against", "Each N against the smallest, with the same memory", columns, single_lines(rows))


def between_memories(numbers: Numbers) -> Grid | None:
    """Each memory size against the smallest at the same N; None when there is one memory size only."""
    rows = [
        [
            *_named(one),
            number(one["base"]["memory_size_mb"], str(one["base"]["memory_size_mb"])),
            *_ratio(one["all"]["ratio_of_medians"]),
            *_ratio(one["all"]["cliffs_delta"], "{:+.2f}"),
            words(LEVELS[one["all"]["level"]], one["all"]["level"]),
        ]
        for one in numbers["comparisons"]["between_memories"]
    ]
    columns = [MEMORY, N, Column("against", "MB"), Column("median ×"), Column("95 %"), Column("Cliff’s delta"),
               Column("95 %"), Column("says", words=True)]  # fmt: skip
    caption = "Each memory size against the smallest, at the same N"
    return Grid("memories", caption, columns, single_lines(rows)) if rows else None


def parallelism(numbers: Numbers) -> Grid:
    """What overlap each cell reached, and the bandwidth of all its functions together."""
    rows = [[*_named(cell), *_overlap(cell)] for cell in numbers["cells"]]
    columns = [
        MEMORY,
        N,
        Column("most at once"),
        Column("mean at once"),
        Column("N reached after", "s"),
        Column("window", "s"),
        Column("span", "s"),
        Column("time at N"),
        Column("download time at N"),
        Column("together", "Mbit/s"),
        Column("in the window", "Mbit/s"),
    ]
    return Grid("parallelism", "Overlap that was reached, and what all functions got together", columns,
                single_lines(rows))  # fmt: skip


def cold(numbers: Numbers) -> Grid:
    """First downloads of an instance against later ones."""
    rows = []
    for cell in numbers["cells"]:
        found = cell["cold"]
        added = found["difference_of_means_s"]
        rows.append(
            [
                *_named(cell),
                *(number(found[kind]["count"]) for kind in ("cold", "warm")),
                *(number(found[kind]["mean_s"], seconds(found[kind]["mean_s"])) for kind in ("cold", "warm")),
                number(added and added["value"], added and f"{added['value']:+.3f}"),
                _interval(added, "{:+.3f}"),
            ]
        )
    columns = [MEMORY, N, Column("cold"), Column("warm"), Column("mean cold", "s"), Column("mean warm", "s"),
               Column("cold − warm", "s"), Column("95 %", "s")]  # fmt: skip
    return Grid("cold", "Cold against warm downloads", columns, single_lines(rows))


def attempts(numbers: Numbers) -> Grid:
    """How many downloads needed another attempt, and what else left a record."""
    names = ("sent", "count", "retried", "errors", "duplicates", "warm_ups", "warm_up_errors")
    rows = []
    for cell in numbers["cells"]:
        bad = {name: "bad" if name in ("errors", "warm_up_errors") and cell[name] else "" for name in names}
        rows.append([*_named(cell), *(number(cell[name], looks=bad[name]) for name in names)])
    totals = numbers["totals"]
    foot = Row([words("all"), BLANK, *(number(totals["downloads" if name == "count" else name]) for name in names)])
    columns = [MEMORY, N, Column("sent"), Column("downloads"), Column("needed a retry"), Column("error records"),
               Column("duplicates"), Column("warm-ups"), Column("failed warm-ups")]  # fmt: skip
    return Grid("attempts", "Downloads, retries and errors", columns, single_lines(rows), foot)


def repeats(numbers: Numbers) -> Grid | None:
    """The repeats of each cell on their own; None when no cell has more than one."""
    rows = [
        [
            *_named(cell),
            number(one["repeat"]),
            number(one["count"]),
            *(number(one[name], seconds(one[name])) for name in ("median_s", "mean_s")),
            *_repeat_overlap(one["parallelism"]),
        ]
        for cell in numbers["cells"]
        if len(cell["repeats"]) > 1
        for one in cell["repeats"]
    ]
    columns = [MEMORY, N, Column("repeat"), Column("count"), Column("median", "s"), Column("mean", "s"),
               Column("most at once"), Column("download time at N"), Column("together", "Mbit/s")]  # fmt: skip
    return Grid("repeats", "Each repeat on its own", columns, single_lines(rows), heads=3) if rows else None


def _named(cell: Mapping[str, Any]) -> list[Entry]:
    return coordinates(cell["memory_size_mb"], cell["concurrency"])


def _interval(interval: Mapping[str, float] | None, pattern: str = "{:.3f}") -> Entry:
    return number(interval and interval["low"], between(interval, pattern), "interval")


def _ratio(found: Mapping[str, float] | None, pattern: str = "{:.2f}") -> list[Entry]:
    return [number(found and found["value"], found and pattern.format(found["value"])), _interval(found, pattern)]


def _overlap(cell: Mapping[str, Any]) -> list[Entry]:
    found = cell["parallelism"]
    if not found:
        return [number(None)] * 9
    window = found["window"] or {}
    short = "short" if found["most_at_once"] < cell["concurrency"] else ""
    return [
        number(found["most_at_once"], looks=short),
        number(found["mean_at_once"], f"{found['mean_at_once']:,.1f}"),
        _from_ms(found["time_to_full_ms"]),
        _from_ms(window.get("length_ms")),
        _from_ms(found["span_ms"]),
        number(found["share_of_span_at_full"], share(found["share_of_span_at_full"])),
        number(found["share_of_download_time_at_full"], share(found["share_of_download_time_at_full"])),
        number(found["mbit_per_s"], speed(found["mbit_per_s"])),
        number(window.get("mbit_per_s"), speed(window.get("mbit_per_s"))),
    ]


def _repeat_overlap(found: Mapping[str, Any] | None) -> list[Entry]:
    if not found:
        return [number(None)] * 3
    return [
        number(found["most_at_once"]),
        number(found["share_of_download_time_at_full"], share(found["share_of_download_time_at_full"])),
        number(found["mbit_per_s"], speed(found["mbit_per_s"])),
    ]


def _from_ms(value_ms: float | None) -> Entry:
    return number(value_ms, None if value_ms is None else f"{value_ms / 1000:,.1f}")
