"""The report: reads a results folder, sets its figures beside the published ones, and draws one page.

`build(run_dir)` rebuilds everything offline from the stored records; `compare(run_dirs, output)` sets runs side by
side. The modules, along the path of the data: `run` asks the folder's store for the operations, as arrays (`columns`);
`statistics` counts everything that the page shows and finds the words; `summary` evaluates the saved query again, which
gives the rows of cells.csv; `beside` sets ours beside the published figures and
`table` prints that; `sections` are the parts of the page, a function and a macro of a template each, with their
`figures`; `html` puts the page together and `rebuild` writes it all.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stampede.report.beside import Beside
from stampede.report.run import NoReport, Run, load

if TYPE_CHECKING:
    from stampede.report.compare_runs import Comparison
    from stampede.report.rebuild import Rebuilt

__all__ = ["Beside", "NoReport", "Run", "build", "compare", "compared", "load", "rebuilt"]


def build(run_dir: Path) -> Path:
    """Write cells.csv, statistics.json, table.md, figures/*.svg and *.png, and report.html into the results folder
    `run_dir`; the path of report.html.

    Raises NoReport (one line) for a folder that can't be reported at all, OSError when it can't be written.
    """
    return rebuilt(run_dir).page


def rebuilt(run_dir: Path) -> "Rebuilt":
    """As `build`, with the table of what was built, ready to be printed by `table.print_table`, and with what the page
    says of missing or doubtful data."""
    # Plots and the query evaluator take a second to import, which a command that fails at once shouldn't cost.
    from stampede.report import rebuild

    return rebuild.build(Path(run_dir))


def compare(run_dirs: Sequence[Path], output: Path) -> Path:
    """Write a page that sets the runs of `run_dirs` against the first of them; `output` is the file, or a folder that
    gets a comparison.html. The path of the page.

    Raises NoReport (one line) for fewer than two runs or one that can't be reported, OSError when it can't be written.
    """
    return compared(run_dirs, output).page


def compared(run_dirs: Sequence[Path], output: Path) -> "Comparison":
    """As `compare`, with what the page answers, and what it says before that."""
    from stampede.report import compare_runs

    return compare_runs.compare([Path(path) for path in run_dirs], Path(output))
