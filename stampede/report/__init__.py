"""The report: reads a results folder, sets its figures beside the published ones, and makes one
page.

The modules, along the path of the data: `run` opens the folder's store, `cells` counts each cell,
`intervals` resamples, `findings` and `economy` set cells against each other, `messages` says what
became of every message, `answer` finds the words, `results` makes the tables and `pictures` the
`charts`, `details` what stands below, and `page` and `render` put it together. `saved_query` gives
the rows of cells.csv; `rebuild` writes it all.
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

    Raises NoReport (one line) for a folder that can't be reported at all, OSError when it can't be
    written.
    """
    # Plots and the query evaluator take a second to import, which a command that fails at once
    # shouldn't cost.
    from stampede.report import rebuild

    return rebuild.build(Path(run_dir))


def compare(run_dirs: Sequence[Path], output: Path) -> "Comparison":
    """Write a page that sets the second of two runs against the first; `output` is the file, or a
    folder that gets a comparison.html.

    Raises NoReport (one line) for runs that can't be compared or reported, OSError when it can't be
    written.
    """
    from stampede.report import compare_runs

    return compare_runs.compare([Path(path) for path in run_dirs], Path(output))


def history(run_dirs: Sequence[Path], output: Path) -> "History":
    """Write a page of three runs or more over time; `output` is the file, or a folder that gets a
    history.html.

    Raises NoReport (one line) for runs that have no common history or can't be reported, OSError
    when it can't be written.
    """
    from stampede.report import over_time

    return over_time.history([Path(path) for path in run_dirs], Path(output))
