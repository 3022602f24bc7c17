"""What one invocation does, in quantities: the handler's CPU seconds, a parameter that a first cell tells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stampede.model.parameters import Parameters
from stampede.model.work import Step, Work


def work(values: Mapping[str, Any], parameters: Parameters) -> Work:
    """One invocation of the handler, after a start of Python with the handler's module."""
    handler = Step("the handler", cpu_s=parameters["handler_cpu_s"])
    cold_s = parameters["python_start_s"] + parameters["handler_init_s"]
    return Work([handler], spread=parameters["spread"], cold_s=cold_s)
