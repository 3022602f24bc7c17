"""The tables of cells that the page shows from the numbers of statistics.json; nothing is computed here."""

from collections.abc import Mapping
from typing import Any

from report.grid import BLANK, Column, Entry, Grid, Row, coordinates, head_columns, number, single_lines, words
from report.phrases import between, seconds, share, speed
from report.ways import key_of_figures, told_apart

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
                *_named(numbers, cell),
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
    columns = [*_heads(numbers), Column("count"), *(Column(name, "s") for name in names)]
    name = "inside" if inside else "distribution"
    return _grid(numbers, name, f"Seconds for one download: {which}", columns, rows)


def against_smallest(numbers: Numbers) -> Grid:
    """Every N against the smallest with the same memory: ratio, effect size, share of the ideal aggregate."""
    rows = []
    for one in numbers["comparisons"]["against_smallest_n"]:
        found, ideal = one["all"], one["throughput"]
        rows.append(
            [
                *_named(numbers, one),
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
        *_heads(numbers),
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
    return _grid(numbers, "against", "Each N against the smallest, with the same memory", columns, rows)


def between_memories(numbers: Numbers) -> Grid | None:
    """Each memory size against the smallest at the same N; None when there is one memory size only."""
    rows = [
        [
            *_named(numbers, one),
            number(one["base"]["memory_size_mb"], str(one["base"]["memory_size_mb"])),
            *_ratio(one["all"]["ratio_of_medians"]),
            *_ratio(one["all"]["cliffs_delta"], "{:+.2f}"),
            words(LEVELS[one["all"]["level"]], one["all"]["level"]),
        ]
        for one in numbers["comparisons"]["between_memories"]
    ]
    columns = [*_heads(numbers), Column("against", "MB"), Column("median ×"), Column("95 %"), Column("Cliff’s delta"),
               Column("95 %"), Column("says", words=True)]  # fmt: skip
    caption = "Each memory size against the smallest, at the same N"
    return _grid(numbers, "memories", caption, columns, rows) if rows else None


def client(numbers: Numbers) -> Grid | None:
    """What downloading took of the function, for comparing ways to download; None when no record says it."""
    rows = []
    for cell in numbers["cells"]:
        took, median = cell["client"], cell["seconds"]["median_s"]
        rows.append(
            [
                *_named(numbers, cell),
                number(cell["count"]),
                number(median, seconds(median)),
                number(took["mbit_per_s"], speed(took["mbit_per_s"])),
                _small(took["cpu_s_per_gib"], "{:.2f}"),
                _small(took["first_byte_s"], "{:.4f}"),
                number(took["requests"]),
                number(took["retries"], looks="bad" if took["retries"] else ""),
            ]
        )
    if all(cell["client"]["cpu_s_per_gib"] is None for cell in numbers["cells"]):
        return None
    columns = [*_heads(numbers), Column("count"), Column("median", "s"), Column("per function", "Mbit/s"),
               Column("CPU", "s/GiB"), Column("first byte", "s"), Column("requests"), Column("retries")]  # fmt: skip
    return _grid(numbers, "client", "What a download took of the function", columns, rows)


def parallelism(numbers: Numbers) -> Grid:
    """What overlap each cell reached, and the bandwidth of all its functions together."""
    rows = [[*_named(numbers, cell), *_overlap(cell)] for cell in numbers["cells"]]
    columns = [
        *_heads(numbers),
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
    caption = "Overlap that was reached, and what all functions got together"
    return _grid(numbers, "parallelism", caption, columns, rows)


def cold(numbers: Numbers) -> Grid:
    """First downloads of an instance against later ones."""
    rows = []
    for cell in numbers["cells"]:
        found = cell["cold"]
        added = found["difference_of_means_s"]
        rows.append(
            [
                *_named(numbers, cell),
                *(number(found[kind]["count"]) for kind in ("cold", "warm")),
                *(number(found[kind]["mean_s"], seconds(found[kind]["mean_s"])) for kind in ("cold", "warm")),
                number(added and added["value"], added and f"{added['value']:+.3f}"),
                _interval(added, "{:+.3f}"),
            ]
        )
    columns = [*_heads(numbers), Column("cold"), Column("warm"), Column("mean cold", "s"), Column("mean warm", "s"),
               Column("cold − warm", "s"), Column("95 %", "s")]  # fmt: skip
    return _grid(numbers, "cold", "Cold against warm downloads", columns, rows)


def attempts(numbers: Numbers) -> Grid:
    """How many downloads needed another attempt, and what else left a record."""
    names = ("sent", "count", "retried", "errors", "duplicates", "warm_ups", "warm_up_errors")
    rows = []
    for cell in numbers["cells"]:
        bad = {name: "bad" if name in ("errors", "warm_up_errors") and cell[name] else "" for name in names}
        rows.append([*_named(numbers, cell), *(number(cell[name], looks=bad[name]) for name in names)])
    totals = numbers["totals"]
    blanks = [BLANK] * (len(_heads(numbers)) - 1)
    foot = Row([words("all"), *blanks, *(number(totals["downloads" if name == "count" else name]) for name in names)])
    columns = [*_heads(numbers), Column("sent"), Column("downloads"), Column("needed a retry"), Column("error records"),
               Column("duplicates"), Column("warm-ups"), Column("failed warm-ups")]  # fmt: skip
    return _grid(numbers, "attempts", "Downloads, retries and errors", columns, rows, foot)


def repeats(numbers: Numbers) -> Grid | None:
    """The repeats of each cell on their own; None when no cell has more than one."""
    rows = [
        [
            *_named(numbers, cell),
            number(one["repeat"]),
            number(one["count"]),
            *(number(one[name], seconds(one[name])) for name in ("median_s", "mean_s")),
            *_repeat_overlap(one["parallelism"]),
        ]
        for cell in numbers["cells"]
        if len(cell["repeats"]) > 1
        for one in cell["repeats"]
    ]
    columns = [*_heads(numbers), Column("repeat"), Column("count"), Column("median", "s"), Column("mean", "s"),
               Column("most at once"), Column("download time at N"), Column("together", "Mbit/s")]  # fmt: skip
    return _grid(numbers, "repeats", "Each repeat on its own", columns, rows, more_heads=1) if rows else None


def _grid(
    numbers: Numbers,
    name: str,
    caption: str,
    columns: list[Column],
    rows: list[list[Entry]],
    foot: Row | None = None,
    more_heads: int = 0,
) -> Grid:
    return Grid(name, caption, columns, single_lines(rows), foot, heads=len(_heads(numbers)) + more_heads)


def _heads(numbers: Numbers) -> list[Column]:
    return head_columns(_with_way(numbers))


def _named(numbers: Numbers, cell: Mapping[str, Any]) -> list[Entry]:
    return coordinates(key_of_figures(cell), _with_way(numbers))


def _with_way(numbers: Numbers) -> bool:
    return told_apart(map(key_of_figures, numbers["cells"]))


def _small(value: float | None, pattern: str) -> Entry:
    return number(value, None if value is None else pattern.format(value))


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
