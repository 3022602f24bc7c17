"""What one download does, in quantities: how many requests, bytes and CPU seconds each method takes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from experiments.download_usage import requests
from experiments.objects import MEBIBYTE
from model.parameters import Parameters
from model.work import Step, Work

GIB_IN_MIB = 1024
# boto3's download_file: parts of 8 MiB by ten threads.
DOWNLOAD_FILE_THREADS = 10
# As the CRT's client counts for its target of 3 Gbit/s (functions/download/crt.py).
CRT_CONNECTIONS = 10


def work(values: Mapping[str, Any], parameters: Parameters) -> Work:
    """One download of the object by the method of `values`."""
    object_mb, method, sink = values["object_size_mb"], values["method"], values["sink"]
    asked = requests(object_mb, values)
    # boto3 asks for the object's size before it asks for parts.
    heads = 1 if method == "download_file" else 0
    at_once = min(_connections(method, values), asked - heads)
    step = Step(
        "downloading",
        fixed_s=heads * parameters["s3_get_s"],
        requests=asked,
        request_s=parameters["s3_get_s"],
        at_once=at_once,
        rate="s3_get",
        tail_s=parameters["last_part_s"] if at_once > 1 else 0.0,
        bytes=object_mb * MEBIBYTE,
        stream_bytes_per_s=parameters["s3_connection_bytes_per_s"],
        cpu_s=parameters[f"cpu_s_per_gib_{method}_{sink}"] * object_mb / GIB_IN_MIB,
        threads=_threads(method, parameters),
    )
    is_go = method.startswith("go_")
    once = Work([step], spread=parameters["spread"], cold_s=parameters["go_start_s" if is_go else "python_start_s"])
    if method != "download_file":
        return once
    # boto3 loads and prepares much when it is first used.
    preparing = Step("preparing boto3", cpu_s=parameters["first_use_cpu_s"])
    return replace(once, steps=[preparing, step], repeat=once)


def _connections(method: str, values: Mapping[str, Any]) -> int:
    if method.endswith("ranges"):
        return values["range_parallel"]
    return {"download_file": DOWNLOAD_FILE_THREADS, "crt": CRT_CONNECTIONS}.get(method, 1)


def _threads(method: str, parameters: Parameters) -> float:
    """How many processors a method can use at once: Python's own code one at a time, streams one, the others all."""
    if method.endswith("stream"):
        return 1.0
    return parameters["python_processors"] if method in ("download_file", "ranges") else math.inf
