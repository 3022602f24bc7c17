"""Reading one object from S3, whole or in parts, as a step of the model."""

from __future__ import annotations

from dataclasses import replace

from experiments.objects import MEBIBYTE
from stampede.model.parameters import Parameters
from stampede.model.work import Step, Work

GIB_IN_MIB = 1024
# boto3's download_file asks for the object's size, then for parts of 8 MiB in ten threads.
HEADS, PART_MB, AT_ONCE = 1, 8, 10


def parts(object_mb: int) -> int:
    """The GETs of one download_file."""
    return -(-object_mb // PART_MB)


def reading(
    object_mb: int,
    requests: int,
    connections: int,
    cpu_s_per_gib: float,
    threads: float,
    parameters: Parameters,
    heads: int = 0,
) -> Step:
    """Reading an object with `requests` over at most `connections`; the first `heads` requests run
    before the others."""
    at_once = min(connections, requests - heads)
    return Step(
        "reading the object",
        fixed_s=heads * parameters["s3_get_s"],
        requests=requests,
        request_s=parameters["s3_get_s"],
        at_once=at_once,
        rate="s3_get",
        tail_s=parameters["last_part_s"] if at_once > 1 else 0.0,
        bytes=object_mb * MEBIBYTE,
        stream_bytes_per_s=parameters["s3_connection_bytes_per_s"],
        cpu_s=cpu_s_per_gib * object_mb / GIB_IN_MIB,
        threads=threads,
    )


def with_first_use(once: Work, parameters: Parameters) -> Work:
    """`once` with boto3, which loads and prepares much on its first use."""
    preparing = Step("loading boto3", cpu_s=parameters["first_use_cpu_s"])
    return replace(once, steps=[preparing, *once.steps], repeat=once)
