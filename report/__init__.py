"""The report: reads a results folder, sets its figures beside the published ones, and draws one page.

`build(run_dir)` rebuilds everything offline from the stored records; `compare(run_dirs, output)` sets runs side by
side. The modules, along the path of the data: `run` reads the folder, `statistics` counts everything that the page
shows and finds the words, `summary` evaluates the saved query again and `consistency` sets it against what `spread`
and `measured` count, `accounting` says where the messages went, `beside` sets ours beside the published figures.
`table`, `figures` and `sections` show it, `html` puts the page together and `rebuild` writes it all.
"""

from collections.abc import Sequence
from pathlib import Path

from report.beside import beside_published
from report.run import NoReport, Run, load

__all__ = ["NoReport", "Run", "beside_published", "build", "compare", "load"]


def build(run_dir: Path) -> Path:
    """Write cells.csv, statistics.json, table.md, figures/*.svg and *.png, and report.html into the results folder
    `run_dir`; the path of report.html.

    Raises NoReport (one line) for a folder that can't be reported at all, OSError when it can't be written.
    """
    # Plots and the query evaluator take a second to import, which printing a table shouldn't cost.
    from report import rebuild

    return rebuild.build(Path(run_dir))


def compare(run_dirs: Sequence[Path], output: Path) -> Path:
    """Write a page that sets the runs of `run_dirs` against the first of them; `output` is the file, or a folder that
    gets a comparison.html. The path of the page.

    Raises NoReport (one line) for fewer than two runs or one that can't be reported, OSError when it can't be written.
    """
    from report import compare_runs

    return compare_runs.compare([Path(path) for path in run_dirs], Path(output))
