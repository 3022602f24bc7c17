"""What the model knows of an experiment: AWS's parameters, and those in the experiment's folder."""

from functools import cache

from stampede.checkout import ROOT
from stampede.model import parameters
from stampede.model.parameters import Parameters


@cache
def known_parameters(name: str) -> Parameters:
    """The parameters for the experiment `name`, whose own come last and count. Raises
    ParameterError."""
    files = (parameters.AWS, ROOT / "experiments" / name / "parameters.json")
    return Parameters([row for path in files for row in parameters.read(path)])
