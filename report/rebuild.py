"""Rebuilds everything that a run's report consists of, offline, from the records stored with it."""

from pathlib import Path

from report import atomic, cells, figures, html, statistics, table
from report.comparing import comparison
from report.figures import Picture
from report.run import load
from report.summary import summarised

FIGURES = "figures"


def build(run_dir: Path) -> Path:
    """Write cells.csv, statistics.json, table.md, figures/*.svg and *.png, and report.html into the results folder
    `run_dir`; the path of report.html.

    Every file is replaced whole. The same folder gives the same bytes. Raises NoReport for a folder that can't be
    reported at all, OSError when it can't be written.
    """
    run = load(run_dir)
    numbers = statistics.statistics(run)
    summary = summarised(run)
    cells.write(run.directory / "cells.csv", summary.rows)
    atomic.write_text(run.directory / "statistics.json", statistics.to_text(numbers))
    beside = comparison(run, summary.rows, numbers)
    atomic.write_text(run.directory / "table.md", table.to_markdown(beside))
    pictures = figures.draw_all(run, numbers)
    write_pictures(run.directory / FIGURES, pictures)
    path = run.directory / "report.html"
    atomic.write_text(path, html.page(run, summary, beside, numbers, pictures))
    return path


def write_pictures(folder: Path, pictures: dict[str, Picture]) -> None:
    """Write each picture as SVG and PNG; one of an earlier build that belongs to other records is removed."""
    for name in figures.NAMES:
        svg, png = folder / f"{name}.svg", folder / f"{name}.png"
        if name in pictures:
            atomic.write_text(svg, pictures[name].svg)
            atomic.write_bytes(png, pictures[name].png)
        else:
            svg.unlink(missing_ok=True)
            png.unlink(missing_ok=True)
