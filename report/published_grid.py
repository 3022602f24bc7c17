"""The published table beside ours, as the page shows it."""

from report import table
from report.comparing import Comparison
from report.comparing import Row as Line
from report.grid import Column, Entry, Grid, Row, coordinates, head_columns, number, words
from report.phrases import share, speed
from report.ways import Key, told_apart

COLUMNS = [
    Column("where", words=True),
    Column("count"),
    *(Column(name, "s") for name in ("min", "p25", "avg", "p75", "max")),
    Column("per function", "Mbit/s"),
    Column("most at once"),
    Column("time at N"),
]


def published_grid(beside: Comparison) -> Grid:
    """One group a cell: the measured line, and under it the published one where there is one."""
    with_way = told_apart(line.key for line in beside.rows)
    groups: dict[Key, list[Row]] = {}
    for line in beside.rows:
        group = groups.setdefault(line.key, [])
        group.append(_row(line, with_way, again=bool(group)))
    caption = "Seconds for one download by memory size and N, measured and published"
    heads = head_columns(with_way)
    return Grid("cells", caption, [*heads, *COLUMNS], list(groups.values()), heads=len(heads), looks="beside")


def _row(line: Line, with_way: bool, *, again: bool) -> Row:
    count, *seconds, _, _ = table.figures_text(line)
    values = [line.min_s, line.p25_s, line.avg_s, line.p75_s, line.max_s]
    short = line.most_at_once is not None and line.most_at_once < line.concurrency
    entries: list[Entry] = [
        *coordinates(line.key, with_way, "again" if again else ""),
        words(line.source, "source"),
        number(line.count, count),
        *(number(value, text) for value, text in zip(values, seconds, strict=True)),
        number(line.mbit_per_s, speed(line.mbit_per_s)),
        number(line.most_at_once, looks="short" if short else ""),
        number(line.share_at_full_n, share(line.share_at_full_n)),
    ]
    return Row(entries, "ours" if line.measured else "theirs")
