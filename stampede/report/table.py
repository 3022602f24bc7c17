"""The table in the published shape, for the terminal and as CSV, JSON and Markdown."""

import csv
import io
import json
import sys
from collections.abc import Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Group
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from stampede import terminal
from stampede.experiment.declaration import Metric
from stampede.phrases import NOTHING
from stampede.report.beside import Beside, Row
from stampede.report.grid import BYTES, coordinates
from stampede.runs import cells
from stampede.runs.cell_key import Key, has_phrase, own_columns, phrase_label

# As wide as a digit: keeps decimal points in one column where two figures have different numbers of decimals.
FIGURE_SPACE = "\u2007"
PLAIN_WIDTH = 100
# To how many columns the text of "where" may be folded before figures are left out.
LEAST_WHERE = 14
# Figures by importance, as places in the table: mean, speed, count, minimum and maximum, quartiles, peak.
IMPORTANT = (3, 6, 0, 1, 5, 2, 4, 7)


def print_table(table: Beside, form: str = "table") -> None:
    """Print `table` on stdout; `form` is table, csv, json or markdown. Raises ValueError for another form."""
    writers = {"csv": to_csv, "json": to_json, "markdown": to_markdown}
    if form == "table":
        console = terminal.console()
        shown = to_rich(table, console.width if console.is_terminal else None)
        if not console.is_terminal:  # into a pipe, as wide as the table needs
            console.width = max(
                PLAIN_WIDTH, Measurement.get(console, console.options.update(width=400), shown.renderables[0]).maximum
            )
        terminal.show(shown, console)
    elif form in writers:
        sys.stdout.write(writers[form](table))
    else:
        raise ValueError(f"form {form!r}: a table is printed as table, {', '.join(writers)}")


def to_rich(table: Beside, width: int | None = 80) -> Group:
    """The table with its caption, for a terminal `width` columns wide; None is as wide as it needs. Figures that don't
    fit are left out and named below."""
    # One space between columns, no edges: eleven columns fit into 80.
    grid = Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    axes = own_columns(table.experiment.axes, table.shown_axes)
    phrased = has_phrase(table.experiment.axes, table.shown_axes)
    labels = [
        "\n".join((axis.label if axis.unit == BYTES else axis.unit or axis.label).rsplit(" ", 1)) for axis in axes
    ]
    cells = [[entry.text for entry in coordinates(row.key.plain, table.shown_axes)][: len(axes)] for row in table.rows]
    for axis, label in zip(axes, labels, strict=True):
        side = "right" if axis.kind is int else "left"
        grid.add_column(label, justify=side, no_wrap=True)
    grid.add_column(f"{phrase_label(table.experiment.axes)}, where" if phrased else "where", overflow="fold")
    more = [metric.short or f"{metric.label}\n{metric.unit}" for metric in _taken(table)]
    speed = table.experiment.speed.unit.replace("/", "\n/")
    names = ["count", "min s", "p25 s", "avg s", "p75 s", "max s", speed, "peak", *more]
    figures = [[*figures_text(table, row), *taken_text(table, row)] for row in table.rows]
    taken = sum(_width(column) for column in zip(labels, *cells, strict=True))
    free = None if width is None else width - taken - LEAST_WHERE
    widths = [_width(column) for column in zip(names, *figures, strict=True)]
    by_importance = sorted(range(len(names)), key=lambda at: IMPORTANT.index(at) if at in IMPORTANT else at)
    shown = terminal.fitting(widths, sum(widths) if free is None else free, by_importance)
    for at in shown:
        grid.add_column(names[at], justify="right", no_wrap=True)
    previous: Key | None = None
    for row, entries, texts in zip(table.rows, cells, figures, strict=True):
        key = row.key
        where = f"{key.variant_words}, {row.source}" if phrased and row.measured else row.source
        if previous is not None and key[axes[0].name] != previous[axes[0].name]:
            grid.add_section()
        style = "bold" if row.measured else "dim"
        cell = [""] * len(entries) if key == previous else entries
        grid.add_row(*cell, where, *(texts[at] for at in shown), style=style)
        previous = key
    missing = [name.replace("-\n", "").replace("\n", " ").strip() for at, name in enumerate(names) if at not in shown]
    note = [terminal.left_out(width, missing)] if missing else []
    return Group(grid, "", *(Text(sentence, style="dim") for sentence in (*note, *table.caption)))


def _width(texts: Sequence[str]) -> int:
    """Of a column with these texts, heading included, and the space before it."""
    return 1 + max(cell_len(line) for text in texts for line in text.split("\n"))


def figures_text(table: Beside, row: Row) -> tuple[str, ...]:
    """Count, the five times, the speed and the peak of `row` for reading; a dash where there is nothing."""
    pattern, padding = ("{:.3f}", "") if row.measured else ("{:.2f}", FIGURE_SPACE)
    times, speed = [row[name] for name in cells.SECONDS], table.experiment.speed
    return (
        NOTHING if row["count"] is None else f"{row['count']:,}",
        *(NOTHING if time is None else pattern.format(time) + padding for time in times),
        NOTHING if row[speed.name] is None else f"{row[speed.name]:,.{speed.digits}f}",
        NOTHING if row["most_at_once"] is None else f"{row['most_at_once']:,}",
    )


def taken_text(table: Beside, row: Row) -> list[str]:
    """What it took of the function, for reading; nothing where no cell names its variant."""
    values = [(row[metric.name], metric.digits) for metric in _taken(table)]
    return [NOTHING if value is None else f"{value:,.{digits}f}" for value, digits in values]


def to_csv(table: Beside) -> str:
    """The table as CSV with every digit; an unknown figure is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns())
    for row in table.rows:
        values = table.values(row).values()
        writer.writerow(
            ["" if v is None else v if isinstance(v, str) else cells.number_text(v) for v in values],
        )
    return text.getvalue()


def to_json(table: Beside) -> str:
    """The table as a JSON array of objects, numbers as numbers, an unknown figure null."""
    return json.dumps([table.values(row) for row in table.rows], indent=2) + "\n"


def to_markdown(table: Beside) -> str:
    """The table as Markdown for pasting, with its caption under it."""
    axes = own_columns(table.experiment.axes, table.shown_axes)
    names = [axis.unit or axis.label for axis in axes]
    texts = [axis.unit or axis.label for axis in axes if axis.kind is str] + ["where"]
    phrased = has_phrase(table.experiment.axes, table.shown_axes)
    if phrased:
        names.append(phrase_label(table.experiment.axes))
        texts.append(names[-1])
    names += ["where", "count", "min s", "p25 s", "avg s", "p75 s", "max s", table.experiment.speed.unit]
    names += ["peak concurrency", *(f"{metric.label} {metric.unit}".strip() for metric in _taken(table))]
    lines = [
        "| " + " | ".join(names) + " |",
        "| " + " | ".join(":---" if name in texts else "---:" for name in names) + " |",
    ]
    for row in table.rows:
        cell = [*(row.key.text(axis) for axis in axes), *([row.key.variant_words] if phrased else [])]
        figures = [text.rstrip(FIGURE_SPACE) for text in figures_text(table, row)]
        lines.append("| " + " | ".join([*cell, row.source, *figures, *taken_text(table, row)]) + " |")
    return "\n".join([*lines, "", *table.caption]) + "\n"


def _taken(table: Beside) -> list[Metric]:
    speed = table.experiment.speed.name
    return [metric for metric in cells.taken(table.experiment) if metric.name != speed] if table.shown_axes else []
