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
from report.run import Key, load

# As wide as a digit: keeps decimal points in one column where two figures have different numbers of decimals.
FIGURE_SPACE = "\u2007"
PLAIN_WIDTH = 100
COLUMNS = tuple(name for name in Row.__dataclass_fields__ if name != "measured")


def print_table(run_dir: Path, form: str = "table") -> None:
    """Print the table of the results folder `run_dir` on stdout; `form` is table, csv, json or markdown.

    It shows the run's cells.csv, so `report.build` comes first. Raises RunError for a folder that can't be
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
    for name in ("MB", "N"):
        grid.add_column(name, justify="right", no_wrap=True, vertical="bottom")
    grid.add_column("where")
    for name in ("count", "min s", "p25 s", "avg s", "p75 s", "max s", "Mbit\n/s", "at\nonce"):
        grid.add_column(name, justify="right", no_wrap=True)
    previous: Key | None = None
    for row in table.rows:
        key = (row.memory_size_mb, row.concurrency)
        coordinates = ("", "") if key == previous else tuple(map(str, key))
        if previous is not None and key[0] != previous[0]:
            grid.add_section()
        style = "bold" if row.measured else "dim"
        grid.add_row(*coordinates, row.source, *figures_text(row), style=style)
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


def to_csv(table: Comparison) -> str:
    """The table as CSV with every digit; an unknown figure is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in table.rows:
        values = [getattr(row, name) for name in COLUMNS]
        writer.writerow(
            ["" if v is None else v if isinstance(v, str) else cells.number_text(v) for v in values],
        )
    return text.getvalue()


def to_json(table: Comparison) -> str:
    """The table as a JSON array of objects, numbers as numbers, an unknown figure null."""
    return json.dumps([{name: getattr(row, name) for name in COLUMNS} for row in table.rows], indent=2) + "\n"


def to_markdown(table: Comparison) -> str:
    """The table as Markdown for pasting, with its caption under it."""
    names = (
        "MB",
        "N",
        "where",
        "count",
        "min s",
        "p25 s",
        "avg s",
        "p75 s",
        "max s",
        "Mbit/s",
        "most at once",
    )
    lines = [
        "| " + " | ".join(names) + " |",
        "| " + " | ".join(":---" if name == "where" else "---:" for name in names) + " |",
    ]
    for row in table.rows:
        figures = [text.rstrip(FIGURE_SPACE) for text in figures_text(row)]
        parts = [str(row.memory_size_mb), str(row.concurrency), row.source, *figures]
        lines.append("| " + " | ".join(parts) + " |")
    return "\n".join([*lines, "", *table.caption]) + "\n"
