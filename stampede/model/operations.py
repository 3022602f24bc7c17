"""The operation that a work is where it runs: in a function or on a host of AWS, or on this machine."""

from __future__ import annotations

from stampede.model import function, machine
from stampede.model.limits import Limit
from stampede.model.operation import Operation
from stampede.model.parameters import Parameters
from stampede.model.work import Work


def of(
    work: Work, memory_mb: int, parameters: Parameters, bandwidth_quota: bool = False
) -> tuple[Operation, list[Limit]]:
    """The operation that `work` is with `memory_mb` at the place of the `parameters`, and the limits that all share;
    `bandwidth_quota`: the account has the quota of the network for each environment. Raises ParameterError where a
    parameter is missing."""
    if parameters.place == "local":
        return machine.operation(work, parameters)
    return function.operation(work, memory_mb, parameters, bandwidth_quota)
