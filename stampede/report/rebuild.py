"""Rebuilds everything that a run's report consists of, offline, from the records stored with it."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from stampede.report import html, statistics, table
from stampede.report.beside import Beside, beside_published
from stampede.report.figures.picture import Picture
from stampede.report.run import load
from stampede.report.sections import SECTIONS, Page
from stampede.report.summary import summarised
from stampede.runs import cells
from stampede.runs.folder import RunFolder

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
    run, folder = load(run_dir), RunFolder(run_dir)
    numbers = statistics.statistics(run)
    summary = summarised(run)
    folder.replace("cells.csv", cells.to_csv(summary.rows, run.experiment))
    folder.replace("statistics.json", statistics.to_text(numbers))
    page = Page(run, numbers, summary, beside_published(run, summary.rows, numbers))
    folder.replace("table.md", table.to_markdown(page.beside))
    blocks = [block for name in run.experiment.sections if (block := SECTIONS[name](page))]
    write_pictures(folder, [picture for block in blocks for picture in block.pictures])
    folder.replace("report.html", html.page(page, blocks))
    warnings = html.warnings(page, resume=folder.as_argument)
    return Rebuilt(folder.path / "report.html", page.beside, html.problems(page), warnings)


def write_pictures(folder: RunFolder, pictures: Iterable[Picture]) -> None:
    """Write each picture as SVG and PNG; any other among them is of an earlier build, of other records, and goes."""
    drawn = set()
    for picture in pictures:
        drawn |= {f"{picture.name}.svg", f"{picture.name}.png"}
        folder.replace(f"{FIGURES}/{picture.name}.svg", picture.svg)
        folder.replace(f"{FIGURES}/{picture.name}.png", picture.png)
    if (folder.path / FIGURES).is_symlink():
        return
    for path in (folder.path / FIGURES).glob("*"):
        if path.suffix in (".svg", ".png") and path.name not in drawn:
            path.unlink()
