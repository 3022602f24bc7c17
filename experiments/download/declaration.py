"""The download experiment: N functions download the same S3 object at the same time, as published
in January 2025."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from experiments.download.checks import checks
from experiments.download.own_object import OWN_OBJECT
from experiments.download.usage import DownloadValues, usage
from experiments.download.work import work
from experiments.objects import MEBIBYTE
from stampede.axes import Axis, concurrency_axis, memory_axis
from stampede.experiment import (
    CPU_S_PER_GIB,
    MBIT_PER_S,
    REQUESTS,
    RETRIES,
    Compare,
    DataObject,
    Experiment,
    Matrix,
    Metric,
    Published,
)
from stampede.variable_rules import DEFAULTS


def default_sink(*before: object) -> str:
    """Where a method puts the bytes by default, as in infra/download.tf; the method is the last of
    `before`."""
    method = str(before[-1])
    if method.endswith("stream"):
        return "discard"
    return "memory" if method.endswith("ranges") else "tmp"


class Download(Experiment):
    name = "download"
    question = "How much S3 throughput does each Lambda function get when N run at once?"
    operation = ("download", "downloads")
    axes = (
        memory_axis(),
        concurrency_axis(),
        # Records and plans without a method mean the published one.
        Axis("method", kind=str, default="download_file"),
        Axis("sink", words="to {}", kind=str, default=default_sink),
    )
    metrics = (
        Metric(
            "seconds",
            "download_time_seconds",
            "seconds for one download",
            "s",
            "spread",
            queried=True,
        ),
        MBIT_PER_S,
        replace(
            CPU_S_PER_GIB,
            reading=(
                "“CPU” is the CPU time of the function’s process, user and system, per GiB "
                "downloaded."
            ),
        ),
        Metric(
            "first_byte_s",
            "first_byte_seconds",
            "first byte",
            "s",
            digits=4,
            reading=(
                "“first byte” is the mean time to the first response with a body (a dash where "
                "the client doesn’t report it)."
            ),
        ),
        replace(
            RETRIES,
            reading=(
                "Retries mean that requests failed, in S3 or on the network; the times above "
                "include the waits."
            ),
        ),
        REQUESTS,
    )
    query = "methods"
    matrices = {
        # The published matrix: 1 GiB, six levels of concurrency, two of memory.
        "aws": Matrix(
            swept={"memory_size": (1024, 2048), "concurrency_value": (1, 5, 10, 50, 100, 500)},
            fixed={"object_size_mb": 1024, "ephemeral_storage_mb": 1200},
        ),
        # The same shape, scaled to one small machine.
        "local": Matrix(
            swept={"memory_size": (1024, 2048), "concurrency_value": (1, 5, 10)},
            fixed={"object_size_mb": 64, "ephemeral_storage_mb": 512},
        ),
    }
    defaults = DEFAULTS["download"]
    # The only sink that all methods have.
    controlled = {"method": {"sink": "tmp"}}
    published = (
        Published(
            "download",
            "AWS, published 2025",
            "ap-northeast-1, January 2025, python3.12, boto3 download_file, 1 GiB object, N x 10 "
            "messages",
            object_bytes=1024**3,
        ),
    )
    compare = (
        # Methods with different sinks aren't ranked.
        Compare("between_methods", "choice", ("method",), base=("download_file",)),
        Compare("against_smallest_n", "scale", ("concurrency",)),
        Compare("between_memories", "scale", ("memory_size_mb",)),
    )
    usage = staticmethod(usage)
    checks = staticmethod(checks)
    work = staticmethod(work)
    own_object = OWN_OBJECT

    def objects(self, outputs: Mapping[str, Any]) -> Sequence[DataObject]:
        return [DataObject(outputs["object_key"], outputs["object_size_mb"] * MEBIBYTE)]

    def order(self, values: DownloadValues, objects: Sequence[DataObject]) -> dict[str, Any]:
        """The object's size in bytes and, of the user's own, its ETag, so that the download of
        another version fails."""
        [held] = objects
        return {
            "object_bytes": held.size_bytes,
            **({"object_etag": held.etag} if held.etag else {}),
        }


DOWNLOAD = Download()
