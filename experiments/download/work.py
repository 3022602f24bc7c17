"""One download in the words of the model: requests, bytes and CPU seconds of each method."""

from __future__ import annotations

import math

from experiments.download.usage import DownloadValues, requests
from experiments.reading import AT_ONCE, HEADS, reading, with_first_use
from stampede.model.parameters import Parameters
from stampede.model.work import Work

# The CRT client's number for its target of 3 Gbit/s (functions/download/crt.py).
CRT_CONNECTIONS = 10


def work(values: DownloadValues, parameters: Parameters) -> Work:
    """One download of the object by the method of `values`."""
    object_mb, method, sink = values["object_size_mb"], values["method"], values["sink"]
    connections = {"download_file": AT_ONCE, "crt": CRT_CONNECTIONS}.get(method, 1)
    if method.endswith("ranges"):
        connections = values["range_parallel"]
    # Processors that a method can use: Python code about one, streams one, the others all.
    threads = math.inf
    if method.endswith("stream"):
        threads = 1.0
    elif method in ("download_file", "ranges"):
        threads = parameters["python_processors"]
    # The init of a function.
    start = ("go_start_s",) if method.startswith("go_") else ("python_start_s", "boto3_start_s")
    cold_s = sum(parameters[name] for name in start)
    step = reading(
        object_mb,
        requests(object_mb, values),
        connections,
        parameters[f"{method}_{sink}_cpu_s_per_gib"],
        threads,
        parameters,
        heads=HEADS if method == "download_file" else 0,
    )
    once = Work([step], spread=parameters["spread"], cold_s=cold_s)
    return with_first_use(once, parameters) if method == "download_file" else once
