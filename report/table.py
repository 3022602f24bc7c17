"""The table in the published shape, for the terminal and as CSV, JSON and Markdown."""

import csv
import io
import json
import sys
from pathlib import Path

from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from report import cells
from report.comparing import Comparison, Row, comparison
from report.phrases import NOTHING
from report.run import load
from report.ways import Key, told_apart, way_words

# As wide as a digit: keeps decimal points in one column where two figures have different numbers of decimals.
FIGURE_SPACE = "\u2007"
PLAIN_WIDTH = 100
COLUMNS = tuple(name for name in Row.__dataclass_fields__ if name not in ("measured", "settings"))


def print_table(run_dir: Path, form: str = "table") -> None:
    """Print the table of the results folder `run_dir` on stdout; `form` is table, csv, json or markdown.

    It shows the run's cells.csv, so `report.build` comes first. Raises NoReport for a folder that can't be
    reported, CellsError, and ValueError for another form.
    """
    table = comparison(load(run_dir))
    writers = {"csv": to_csv, "json": to_json, "markdown": to_markdown}
    if form == "table":
        # Into a pipe, as wide as the table needs; a terminal's own width otherwise.
        Console(file=sys.stdout, width=None if sys.stdout.isatty() else PLAIN_WIDTH).print(to_rich(table))
    elif form in writers:
        sys.stdout.write(writers[form](table))
    else:
        raise ValueError(f"form {form!r}: a table is printed as table, {', '.join(writers)}")


def to_rich(table: Comparison, title: str | None = None) -> Group:
    """The table for the terminal, 80 columns wide, with its caption under it."""
    # One space between columns, no edges: eleven columns fit into 80.
    grid = Table(title=title, box=box.SIMPLE_HEAD, padding=0, show_edge=False, title_justify="left")
    with_way = tells_ways_apart(table)
    for name in ("MB", "N"):
        grid.add_column(name, justify="right", no_wrap=True, vertical="top" if with_way else "bottom")
    grid.add_column("method, where" if with_way else "where", overflow="fold")
    more = ("CPU\ns/GiB", "re-\ntry") if with_way else ()
    for name in ("count", "min s", "p25 s", "avg s", "p75 s", "max s", "Mbit\n/s", "at\nonce", *more):
        grid.add_column(name, justify="right", no_wrap=True)
    previous: Key | None = None
    for row in table.rows:
        key = row.key
        named = [str(key.memory_mb), str(key.n)]
        where = f"{way_words(*key.way)}, {row.source}" if with_way and row.measured else row.source
        if previous is not None and key.memory_mb != previous.memory_mb:
            grid.add_section()
        style = "bold" if row.measured else "dim"
        took = client_text(row) if with_way else ()
        shown = ["", ""] if key == previous else named
        grid.add_row(*shown, where, *figures_text(row), *took, style=style)
        previous = key
    return Group(grid, "", *(Text(sentence, style="dim") for sentence in table.caption))


def figures_text(row: Row) -> tuple[str, ...]:
    """Count, the five times, Mbit/s and most at once of `row` for reading; a dash where there is nothing."""
    pattern, padding = ("{:.3f}", "") if row.measured else ("{:.2f}", FIGURE_SPACE)
    times = [getattr(row, name) for name in cells.SECONDS]
    return (
        NOTHING if row.count is None else f"{row.count:,}",
        *(NOTHING if time is None else pattern.format(time) + padding for time in times),
        NOTHING if row.mbit_per_s is None else f"{row.mbit_per_s:,.0f}",
        NOTHING if row.most_at_once is None else f"{row.most_at_once}",
    )


def client_text(row: Row) -> tuple[str, str]:
    """CPU seconds a GiB and retries of `row` for reading."""
    return (
        NOTHING if row.cpu_s_per_gib is None else f"{row.cpu_s_per_gib:.2f}",
        NOTHING if row.retries is None else f"{row.retries:,}",
    )


def tells_ways_apart(table: Comparison) -> bool:
    """Whether any line is of another way to download than the published one, so that all must say theirs."""
    return told_apart(row.key for row in table.rows)


def to_csv(table: Comparison) -> str:
    """The table as CSV with every digit; an unknown figure is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = _columns(table)
    writer.writerow(columns)
    for row in table.rows:
        values = [getattr(row, name) for name in columns]
        writer.writerow(
            ["" if v is None else v if isinstance(v, str) else cells.number_text(v) for v in values],
        )
    return text.getvalue()


def to_json(table: Comparison) -> str:
    """The table as a JSON array of objects, numbers as numbers, an unknown figure null."""
    columns = _columns(table)
    return json.dumps([{name: getattr(row, name) for name in columns} for row in table.rows], indent=2) + "\n"


def _columns(table: Comparison) -> tuple[str, ...]:
    """The columns, and one for what else was swept where anything was."""
    return (*COLUMNS, "settings") if any(row.settings for row in table.rows) else COLUMNS


def to_markdown(table: Comparison) -> str:
    """The table as Markdown for pasting, with its caption under it."""
    with_way = tells_ways_apart(table)
    names = (
        "MB",
        "N",
        *(["method"] if with_way else []),
        "where",
        "count",
        "min s",
        "p25 s",
        "avg s",
        "p75 s",
        "max s",
        "Mbit/s",
        "most at once",
        *(["CPU s/GiB", "retries"] if with_way else []),
    )
    lines = [
        "| " + " | ".join(names) + " |",
        "| " + " | ".join(":---" if name in ("method", "where") else "---:" for name in names) + " |",
    ]
    for row in table.rows:
        figures = [text.rstrip(FIGURE_SPACE) for text in figures_text(row)]
        named = [str(row.memory_size_mb), str(row.concurrency), *([way_words(*row.key.way)] if with_way else [])]
        parts = [*named, row.source, *figures, *(client_text(row) if with_way else ())]
        lines.append("| " + " | ".join(parts) + " |")
    return "\n".join([*lines, "", *table.caption]) + "\n"
