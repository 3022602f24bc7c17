"""What is said of a run whose planned cells weren't all finished, and what to do about it."""

from stampede.phrases import some
from stampede.report.run import Run

# A sentence that names more than this is not read to its end.
NAMED = 6


def sentences(run: Run, resume: str | None = None) -> list[str]:
    """What must be said at the top of the page; [] for a run whose plan was carried out, or that had none. `resume` are
    the run and its results folder as --resume takes them (default: the run's id, for a page that is read elsewhere)."""
    missing = run.unfinished
    if not missing:
        return []
    named = some([run.cell_words(cell) for cell in missing], NAMED)
    were, them = ("was", "it") if len(missing) == 1 else ("were", "them")
    return [
        f"{len(missing)} of {len(run.cells)} planned cells {were} not finished, so figures are missing or "
        f"partial: {named}. To finish {them}, run "
        f"`stampede sweep {run.experiment.name} --resume {resume or run.run_id}`."
    ]
