"""The table in the published shape, for the terminal and as CSV, JSON and Markdown."""

import csv
import io
import json
import sys
from itertools import zip_longest

from rich.console import Group
from rich.text import Text

from stampede import terminal
from stampede.cell import has_phrase, own_columns, phrase_label
from stampede.experiment import Metric
from stampede.phrases import NOTHING
from stampede.report.beside import Beside, Row
from stampede.report.grid import BYTES, coordinates
from stampede.runs import cells
from stampede.tables import Column, fitting, for_spreadsheets, grid, named, number_text, width_of

# As wide as a digit: keeps decimal points in one column where two figures have different numbers of decimals.
FIGURE_SPACE = "\u2007"
PLAIN_WIDTH = 100
# One space between columns: eleven of them fit into 80.
GAP = 1
# To how many columns the text of "where" may be folded before figures are left out.
LEAST_WHERE = 14
# Figures by importance, as places in the table: mean, speed, count, minimum and maximum, quartiles, peak.
IMPORTANT = (3, 6, 0, 1, 5, 2, 4, 7)


def print_table(table: Beside, form: str = "table") -> None:
    """Print `table` on stdout; `form` is table, csv, json or markdown. Raises ValueError for another form."""
    writers = {"csv": to_csv, "json": to_json, "markdown": to_markdown}
    if form == "table":
        console = terminal.console()
        if not console.is_terminal:  # into a pipe, as wide as the table needs
            console.width = max(PLAIN_WIDTH, width_of(_columns(table), GAP))
        terminal.show(to_rich(table, console.width), console)
    elif form in writers:
        sys.stdout.write(writers[form](table))
    else:
        raise ValueError(f"form {form!r}: a table is printed as table, {', '.join(writers)}")


def to_rich(table: Beside, width: int = 80) -> Group:
    """The table with its caption, for a terminal `width` columns wide. Figures that don't fit are left out and named
    below."""
    first_axis = table.experiment.axes[0].name
    kept = len(own_columns(table.experiment.axes, table.shown_axes)) + 1
    columns = _columns(table)
    by_importance = [kept + at for at in (*IMPORTANT, *range(len(IMPORTANT), len(columns) - kept))]
    shown, left_out = fitting(columns, width, kept, by_importance, GAP)
    drawn = grid(shown, width, GAP)
    for line, row, following in zip_longest(drawn.rows, table.rows, table.rows[1:]):
        line.style = "bold" if row.measured else "dim"
        line.end_section = following is not None and following.key[first_axis] != row.key[first_axis]
    note = [named(left_out, width)] if left_out else []
    return Group(drawn, "", *(Text(sentence, style="dim") for sentence in (*note, *table.caption)))


def _columns(table: Beside) -> list[Column]:
    """Of the table in a terminal: the coordinates, each named once, where, and the figures."""
    axes, phrased = (
        own_columns(table.experiment.axes, table.shown_axes),
        has_phrase(table.experiment.axes, table.shown_axes),
    )
    keys = [row.key for row in table.rows]
    named_before = [key == previous for key, previous in zip(keys, [None, *keys], strict=False)]
    names = [[entry.text for entry in coordinates(key.plain, table.shown_axes)] for key in keys]
    columns = []
    for at, axis in enumerate(axes):
        label = "\n".join((axis.label if axis.unit == BYTES else axis.unit or axis.label).rsplit(" ", 1))
        texts = ["" if again else texts[at] for again, texts in zip(named_before, names, strict=True)]
        columns.append(Column(label, texts, number=axis.kind is int))
    sources = [
        f"{row.key.variant_words(table.shown_axes)}, {row.source}" if phrased and row.measured else row.source
        for row in table.rows
    ]
    columns.append(
        Column(f"{phrase_label(table.experiment.axes)}, where" if phrased else "where", sources, least=LEAST_WHERE)
    )
    speed = table.experiment.speed.unit.replace("/", "\n/")
    more = [metric.short or f"{metric.label}\n{metric.unit}" for metric in _taken(table)]
    heads = ["count", "min s", "p25 s", "avg s", "p75 s", "max s", speed, "peak", *more]
    figures = [[*figures_text(table, row), *taken_text(table, row)] for row in table.rows]
    return columns + [Column(head, [texts[at] for texts in figures], number=True) for at, head in enumerate(heads)]


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
            ["" if v is None else for_spreadsheets(v) if isinstance(v, str) else number_text(v) for v in values],
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
        cell = [*(row.key.text(axis) for axis in axes), *([row.key.variant_words(table.shown_axes)] if phrased else [])]
        figures = [text.rstrip(FIGURE_SPACE) for text in figures_text(table, row)]
        lines.append("| " + " | ".join([*cell, row.source, *figures, *taken_text(table, row)]) + " |")
    return "\n".join([*lines, "", *table.caption]) + "\n"


def _taken(table: Beside) -> list[Metric]:
    speed = table.experiment.speed.name
    return [metric for metric in cells.taken(table.experiment) if metric.name != speed] if table.shown_axes else []
