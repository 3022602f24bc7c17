"""The experiments: one file each, the whole of what makes it that experiment."""

from experiments.download import DOWNLOAD
from experiments.experiment import Axis, Experiment, Matrix

EXPERIMENTS = {experiment.name: experiment for experiment in (DOWNLOAD,)}

__all__ = ["EXPERIMENTS", "Axis", "Experiment", "Matrix"]
