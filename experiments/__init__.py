"""The experiments: one file each, the whole of what makes it that experiment."""

from collections.abc import Mapping
from typing import Any

from experiments.copy.declaration import COPY
from experiments.copy_host.declaration import COPY_HOST
from experiments.download.declaration import DOWNLOAD
from experiments.express.declaration import EXPRESS
from experiments.filesystem.declaration import FILESYSTEM
from experiments.function.declaration import FUNCTION
from stampede.experiment.axes import Axis
from stampede.experiment.declaration import Experiment, Matrix

EXPERIMENTS = {experiment.name: experiment for experiment in (DOWNLOAD, FILESYSTEM, COPY, COPY_HOST, EXPRESS, FUNCTION)}
# What a run of before there was a choice doesn't name.
FIRST = DOWNLOAD

__all__ = ["EXPERIMENTS", "FIRST", "Axis", "Experiment", "Matrix", "of_run"]


def of_run(manifest: Mapping[str, Any]) -> Experiment:
    """The experiment that the run.json `manifest` is of. Raises KeyError with its name for one that isn't there."""
    return EXPERIMENTS[str(manifest.get("experiment") or FIRST.name)]
