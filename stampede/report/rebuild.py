"""Rebuilds everything that a run's report consists of, offline, from the records stored with it."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from stampede.report import html, statistics, table
from stampede.report.beside import Beside, beside_published
from stampede.report.figures.picture import Picture
from stampede.report.sections import SECTIONS, Page
from stampede.report.summary import summarised
from stampede.runs import atomic, cells
from stampede.runs.folder import RunFolder
from stampede.runs.run import load

FIGURES = "figures"


class Rebuilt(NamedTuple):
    """The path of report.html, its table, and what the page says first of the run: doubts, and what is missing, with
    the command that finishes it from this folder."""

    page: Path
    table: Beside
    problems: list[str]
    warnings: list[str]


def build(run_dir: Path) -> Rebuilt:
    """Write cells.csv, statistics.json, table.md, figures/*.svg and *.png, and report.html into the results folder
    `run_dir`.

    Every file is replaced whole. The same folder gives the same bytes. Raises NoReport for a folder that can't be
    reported at all, OSError when it can't be written.
    """
    run = load(RunFolder(run_dir).without_links().path)
    numbers = statistics.statistics(run)
    summary = summarised(run)
    cells.write(run.directory / "cells.csv", summary.rows, run.experiment)
    atomic.write_text(run.directory / "statistics.json", statistics.to_text(numbers))
    page = Page(run, numbers, summary, beside_published(run, summary.rows, numbers))
    atomic.write_text(run.directory / "table.md", table.to_markdown(page.beside))
    blocks = [block for name in run.experiment.sections if (block := SECTIONS[name](page))]
    write_pictures(run.directory / FIGURES, [picture for block in blocks for picture in block.pictures])
    path = run.directory / "report.html"
    atomic.write_text(path, html.page(page, blocks))
    warnings = html.warnings(page, resume=RunFolder(run_dir).as_argument)
    return Rebuilt(path, page.beside, html.problems(page), warnings)


def write_pictures(folder: Path, pictures: Iterable[Picture]) -> None:
    """Write each picture as SVG and PNG; any other in `folder` is of an earlier build, of other records, and goes."""
    drawn = set()
    for picture in pictures:
        drawn |= {f"{picture.name}.svg", f"{picture.name}.png"}
        atomic.write_text(folder / f"{picture.name}.svg", picture.svg)
        atomic.write_bytes(folder / f"{picture.name}.png", picture.png)
    for path in folder.glob("*"):
        if path.suffix in (".svg", ".png") and path.name not in drawn:
            path.unlink()
