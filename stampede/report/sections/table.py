"""Ours beside the published figures, and what an operation took of the function."""

from stampede.cell import Cell
from stampede.phrases import percent, seconds
from stampede.report import published
from stampede.report.beside import Row as Line
from stampede.report.grid import Column, Entry, Grid, Row, coordinates, head_columns, number, words
from stampede.report.sections.page import Block, Page
from stampede.report.table import FIGURE_SPACE, figures_text
from stampede.runs.cells import SECONDS


def table(page: Page) -> Block:
    """Both tables; words where nothing was planned or measured."""
    summary, experiment = page.summary, page.experiment
    # How the speeds of published rows were counted, where they were counted otherwise.
    shown = {line.source for line in page.beside.rows if not line.measured}
    taken = _taken(page)
    columns = [column.label for column in taken.columns] if taken else []
    sums, means = (
        [
            f"“{metric.label}”"
            for metric in experiment.metrics
            if metric.how == how and metric != experiment.speed and metric.label in columns
        ]
        for how in ("sum", "mean")
    )
    otherwise = [table.reading for table in experiment.published if table.reading and table.label in shown]
    return page.block(
        "table",
        "Measured and published" if shown else "Measured",
        caption=page.beside.caption,
        beside=_beside(page, bool(shown)) if page.beside.rows else None,
        published_readings=list(dict.fromkeys(otherwise)),
        taken=taken,
        readings=[metric.reading for metric in experiment.metrics if metric.reading and metric.label in columns],
        has_queries=page.has_queries,
        has_runs=any(cell.runs_s for cell in published.every_cell(experiment)),
        counted=experiment.speed.how,
        speed=experiment.speed.label,
        sums=sums,
        means=means,
        origin=summary.origin,
    )


def _beside(page: Page, has_published: bool) -> Grid:
    """One group a cell: the measured line, and under it the published one where there is one."""
    groups: dict[Cell, list[Row]] = {}
    for line in page.beside.rows:
        group = groups.setdefault(line.key, [])
        group.append(_row(page, line, again=bool(group)))
    caption = f"Seconds for one {page.experiment.operation[0]}" + (", measured and published" if has_published else "")
    heads, speed = head_columns(page.experiment.axes, page.beside.shown_axes), page.experiment.speed
    columns = [
        *heads,
        Column("where", words=True),
        Column("count"),
        *(Column(name, "s") for name in ("min", "p25", "avg", "p75", "max")),
        Column(speed.label, speed.unit),
        Column("peak concurrency"),
        Column("elapsed at full N", "%"),
    ]
    return Grid("cells", caption, columns, list(groups.values()), heads=len(heads), looks="beside")


def _row(page: Page, line: Line, *, again: bool) -> Row:
    shown_axes, speed = page.beside.shown_axes, page.experiment.speed
    count, *times, got, _ = (text.rstrip(FIGURE_SPACE) for text in figures_text(page.beside, line))
    most, at_n = line["most_at_once"], line["share_at_full_n"]
    short = most is not None and most < line.key.n
    entries: list[Entry] = [
        *coordinates(line.key.plain, shown_axes, "again" if again else ""),
        words(line.source, "source"),
        number(line["count"], count),
        *(number(line[name], text) for name, text in zip(SECONDS, times, strict=True)),
        number(line[speed.name], got),
        number(most, looks="short" if short else ""),
        number(at_n, percent(at_n)),
    ]
    return Row(entries, "ours" if line.measured else "theirs")


def _taken(page: Page) -> Grid | None:
    """The metrics beside the time, for comparing variants; None when no record tells what the function spent. Those of
    Athena's queries are in a section of their own."""
    cells = [cell for cell in page.numbers["cells"] if not page.is_query(page.key(cell))]
    metrics = page.experiment.metrics[1:]
    if page.experiment.athena is not None:
        metrics = [metric for metric in metrics if any(cell["client"][metric.name] is not None for cell in cells)]
    spent = [metric.name for metric in metrics if metric.name != page.experiment.speed.name]
    if all(cell["client"][name] is None for cell in cells for name in spent):
        return None
    lines = []
    for cell in cells:
        median = cell["seconds"]["median_s"]
        entries = [number(cell["count"]), number(median, seconds(median))]
        for metric in metrics:
            value = cell["client"][metric.name]
            text = None if value is None else f"{value:,.{metric.digits}f}"
            entries.append(number(value, text, "bad" if metric.name == "retries" and value else ""))
        lines.append((cell, entries))
    columns = [Column("count"), Column("median", "s"), *(Column(metric.label, metric.unit) for metric in metrics)]
    operation = page.experiment.operation[0]
    article = "an" if operation[0] in "aeiou" else "a"
    return page.grid("taken", f"Resources used by {article} {operation}", columns, lines)
