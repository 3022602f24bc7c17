"""The experiments, each with a package of its own that declares it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.copy.declaration import COPY
from experiments.copy_host.declaration import COPY_HOST
from experiments.download.declaration import DOWNLOAD
from experiments.express.declaration import EXPRESS
from experiments.filesystem.declaration import FILESYSTEM
from experiments.function.declaration import FUNCTION
from stampede.axes import Axis
from stampede.errors import UsageError
from stampede.experiment import Experiment, Matrix

EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (DOWNLOAD, FILESYSTEM, COPY, COPY_HOST, EXPRESS, FUNCTION)
}
__all__ = ["EXPERIMENTS", "Axis", "Experiment", "Matrix", "of_run", "use_the_writer"]


def of_run(manifest: Mapping[str, Any], path: Path = Path("run.json")) -> Experiment:
    """The experiment of `manifest`, the run.json at `path`. Raises UsageError if unknown."""
    name = str(manifest.get("experiment") or DOWNLOAD.name)  # of a run.json that is torn
    if name not in EXPERIMENTS:
        raise UsageError(
            f"{path}: experiment {name!r}, but this Stampede has {', '.join(EXPERIMENTS)}",
            use_the_writer(manifest),
        )
    return EXPERIMENTS[name]


def use_the_writer(manifest: Mapping[str, Any]) -> str:
    """What to do with a run that another version of Stampede wrote."""
    return (
        "use the version that wrote it "
        f"({manifest.get('stampede_version', 'not named in the file')})"
    )
