"""Rebuilds all files of a run's report, offline, from the records stored with it."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from stampede.report import analysis, answer, cells
from stampede.report.charts import Chart
from stampede.report.page import page, unfinished
from stampede.report.results import results
from stampede.report.run import load
from stampede.report.saved_query import answered
from stampede.runs import cells as stored_cells
from stampede.runs.folder import RunFolder
from stampede.tables import Table

FIGURES = "figures"


class Rebuilt(NamedTuple):
    """The path of report.html, its table and headline, and the page's notices: `problems` put the
    figures in doubt, `warnings` say what is missing, with the command to resume here."""

    page: Path
    table: Table
    headline: str
    problems: list[str]
    warnings: list[str]


def build(run_dir: Path) -> Rebuilt:
    """Write cells.csv, statistics.json, table.md, the charts and report.html into the results
    folder `run_dir`.

    Every file is replaced as a whole. The same folder gives the same bytes. Raises NoReport for a
    folder that can't be reported, OSError if it can't be written.
    """
    run, folder = load(run_dir), RunFolder(run_dir)
    counted, query = analysis.analyse(run), answered(run)
    folder.replace("cells.csv", stored_cells.to_csv(query.rows, run.experiment))
    said, table = answer.say(counted), results(counted)
    statistics = cells.as_text(analysis.as_dict(counted, said.headline, said.caveats))
    folder.replace("statistics.json", statistics)
    folder.replace("table.md", table.markdown())
    problems = [*query.problems, *counted.account.problems]
    empty = [] if counted.totals["records"] else ["This run has no records."]
    missing = [*empty, *run.warnings, *query.warnings]
    html, charts = page(counted, said, table, statistics, problems, [*unfinished(run), *missing])
    write_charts(folder, charts)
    folder.replace("report.html", html)
    warnings = [*unfinished(run, folder.as_argument), *missing]
    return Rebuilt(folder.path / "report.html", table, said.headline, problems, warnings)


def write_charts(folder: RunFolder, charts: Iterable[Chart]) -> None:
    """Write each chart as SVG, and the first, that of the answer, also as PNG for slides. Charts of
    an earlier build are removed."""
    drawn = set()
    for at, chart in enumerate(charts):
        files = {f"{chart.name}.svg": chart.svg} | (
            {f"{chart.name}.png": chart.png} if at == 0 else {}
        )
        for name, content in files.items():
            folder.replace(f"{FIGURES}/{name}", content)
        drawn |= files.keys()
    if (folder.path / FIGURES).is_symlink():
        return
    for path in (folder.path / FIGURES).glob("*"):
        if path.suffix in (".svg", ".png") and path.name not in drawn:
            path.unlink()
