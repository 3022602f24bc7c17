"""Where what the model knows of an experiment stands: a file for the place, and one that the experiment has there."""

from functools import cache
from pathlib import Path

from stampede.checkout import ROOT
from stampede.model import parameters
from stampede.model.parameters import Parameters


def files(name: str, place: str = "aws") -> list[Path]:
    """The files of parameters for the experiment `name` on `aws` or `local`; rows of the later ones count."""
    end = "" if place == "aws" else f"_{place}"
    both = (parameters.AWS.with_name(f"parameters{end}.json"), ROOT / "experiments" / name / f"parameters{end}.json")
    return [path for path in both if path.exists()]


@cache
def known_parameters(name: str, place: str = "aws") -> Parameters:
    """What they say. Raises ParameterError."""
    return Parameters([row for path in files(name, place) for row in parameters.read(path)], place)
