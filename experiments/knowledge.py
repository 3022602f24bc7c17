"""Where what the model knows of an experiment stands: a file for the place, and one that the experiment has there."""

from functools import cache
from pathlib import Path

from model import parameters
from model.parameters import Parameters

OWN = Path(__file__).with_name("parameters")


def files(name: str, place: str = "aws") -> list[Path]:
    """The files of parameters for the experiment `name` on `aws` or `local`; rows of the later ones count."""
    end = "" if place == "aws" else f"_{place}"
    both = (parameters.AWS.with_name(f"parameters{end}.json"), OWN / f"{name}{end}.json")
    return [path for path in both if path.exists()]


@cache
def knowledge(name: str, place: str = "aws") -> Parameters:
    """What they say. Raises ParameterError."""
    return Parameters([row for path in files(name, place) for row in parameters.read(path)], place)
