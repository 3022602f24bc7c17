"""What the function experiment knows a cell by."""

from stampede.checkout import ROOT
from stampede.experiment import Values

EXAMPLE = ROOT / "examples" / "thumbnail"


class FunctionValues(Values):
    """The variables that it reads."""

    package: str
    handler: str
    runtime: str
    policy_file: str | None
    environment: dict[str, str]
    layers: list[str]
