"""Where what the model knows of an experiment stands: a file of AWS's, and one that the experiment
has beside it."""

from functools import cache
from pathlib import Path

from stampede.checkout import ROOT
from stampede.model import parameters
from stampede.model.parameters import Parameters


def files(name: str) -> list[Path]:
    """The files of parameters for the experiment `name`; rows of the later ones count."""
    both = (parameters.AWS, ROOT / "experiments" / name / "parameters.json")
    return [path for path in both if path.exists()]


@cache
def known_parameters(name: str) -> Parameters:
    """What they say. Raises ParameterError."""
    return Parameters([row for path in files(name) for row in parameters.read(path)])
