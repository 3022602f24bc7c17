"""What one download does, in quantities: how many requests, bytes and CPU seconds each method takes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from experiments.download.usage import requests
from stampede.experiment.reading import AT_ONCE, HEADS, reading, with_first_use
from stampede.model.parameters import Parameters
from stampede.model.work import Work

# As the CRT's client counts for its target of 3 Gbit/s (functions/download/crt.py).
CRT_CONNECTIONS = 10


def work(values: Mapping[str, Any], parameters: Parameters) -> Work:
    """One download of the object by the method of `values`."""
    object_mb, method, sink = values["object_size_mb"], values["method"], values["sink"]
    step = reading(
        object_mb,
        requests(object_mb, values),
        _connections(method, values),
        parameters[f"{method}_{sink}_cpu_s_per_gib"],
        _threads(method, parameters),
        parameters,
        heads=HEADS if method == "download_file" else 0,
    )
    once = Work([step], spread=parameters["spread"], cold_s=_start_s(method, parameters))
    return with_first_use(once, parameters) if method == "download_file" else once


def _start_s(method: str, parameters: Parameters) -> float:
    """What the init of a function takes; only one method imports boto3."""
    if method.startswith("go_"):
        return parameters["go_start_s"]
    return parameters["python_start_s"] + (parameters["boto3_start_s"] if method == "download_file" else 0.0)


def _connections(method: str, values: Mapping[str, Any]) -> int:
    if method.endswith("ranges"):
        return values["range_parallel"]
    return {"download_file": AT_ONCE, "crt": CRT_CONNECTIONS}.get(method, 1)


def _threads(method: str, parameters: Parameters) -> float:
    """How many processors a method can use at once: Python's own code one at a time, streams one, the others all."""
    if method.endswith("stream"):
        return 1.0
    return parameters["python_processors"] if method in ("download_file", "ranges") else math.inf
