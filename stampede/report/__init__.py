"""The report: reads a results folder, compares its figures with the published ones, and writes a
page.

The modules, along the path of the data: `run` opens the folder's store, `cells` measures each cell,
`intervals` resamples, `findings` and `economy` compare cells, `messages` accounts for every
message, `answer` words the result, `results` makes the tables, `pictures` the `charts` and
`details` the sections below them, `page` and `render` assemble the page. `saved_query` provides the
rows of cells.csv; `rebuild` writes all files.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stampede.report.run import NoReport, Run, load

if TYPE_CHECKING:
    from stampede.report.compare_runs import Comparison
    from stampede.report.over_time import History
    from stampede.report.rebuild import Rebuilt

__all__ = ["NoReport", "Run", "build", "compare", "history", "load"]


def build(run_dir: Path) -> "Rebuilt":
    """Write cells.csv, statistics.json, table.md, figures/ and report.html into the results folder
    `run_dir`.

    Raises NoReport (one line) for a folder that can't be reported, OSError if it can't be written.
    """
    # Charts and the query evaluator take a second to import, which a command that fails at once can
    # do without.
    from stampede.report import rebuild

    return rebuild.build(Path(run_dir))


def compare(run_dirs: Sequence[Path], output: Path) -> "Comparison":
    """Write a page that compares the second of two runs with the first; `output` is the file, or a
    folder for comparison.html.

    Raises NoReport (one line) for runs that can't be compared or reported, OSError if the page
    can't be written.
    """
    from stampede.report import compare_runs

    return compare_runs.compare([Path(path) for path in run_dirs], Path(output))


def history(run_dirs: Sequence[Path], output: Path) -> "History":
    """Write a page of three or more runs over time; `output` is the file, or a folder for
    history.html.

    Raises NoReport (one line) for runs that can't be compared or reported, OSError if the page
    can't be written.
    """
    from stampede.report import over_time

    return over_time.history([Path(path) for path in run_dirs], Path(output))
