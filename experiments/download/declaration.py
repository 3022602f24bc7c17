"""The download experiment: N functions at once download the same object from S3, as published in January 2025."""

from experiments.download.checks import checks
from experiments.download.usage import objects, order, usage
from experiments.download.work import work
from stampede.experiment.declaration import LAST_SECTIONS, Axis, Compare, Experiment, Matrix, Metric, Published


def default_sink(*before: object) -> str:
    """Where a method puts the bytes when nothing is said, the method being the last of `before`; the rule of
    infra/download.tf."""
    method = str(before[-1])
    if method.endswith("stream"):
        return "discard"
    return "memory" if method.endswith("ranges") else "tmp"


DOWNLOAD = Experiment(
    name="download",
    question="How much S3 throughput does each Lambda function get when N run at once?",
    operation=("download", "downloads"),
    axes=(
        Axis("memory_size_mb", "memory_size", "memory_size", "memory", "{} MB", unit="MB"),
        Axis("concurrency", "concurrency_limit", "concurrency_value", "N", "N = {}"),
        # What a record or a plan without a method means: the published one.
        Axis("method", "method", "method", "method", kind=str, default="download_file"),
        Axis("sink", "sink", "sink", "sink", "to {}", kind=str, default=default_sink),
    ),
    metrics=(
        Metric("seconds", "download_time_seconds", "seconds for one download", "s", "spread", queried=True),
        Metric("mbit_per_s", "bytes", "per function", "Mbit/s", "rate", "higher", queried=True),
        Metric(
            "cpu_s_per_gib",
            "client_cpu_seconds",
            "CPU",
            "s/GiB",
            "per_gib",
            queried=True,
            digits=2,
            reading="“CPU” is the CPU time of the function’s process, user and system, per GiB downloaded.",
        ),
        Metric(
            "first_byte_s",
            "first_byte_seconds",
            "first byte",
            "s",
            "mean",
            digits=4,
            reading="“first byte” is the mean time to the first response with a body (a dash where the client doesn’t "
            "report it).",
        ),
        Metric(
            "retries",
            "retries",
            "retries",
            "",
            "sum",
            queried=True,
            short="re-\ntry",
            reading="Retries mean that requests failed, in S3 or on the network; the times above include the waits.",
        ),
        Metric("requests", "requests", "requests", "", "sum"),
    ),
    messages_per_concurrency=10,
    matrices={
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
    },
    query="methods",
    published=(
        Published(
            "download",
            "AWS, published 2025",
            "ap-northeast-1, January 2025, python3.12, boto3 download_file, 1 GiB object, N x 10 messages",
            object_bytes=1024**3,
            reading="the published write-up divides 1,024 × 8 by the seconds, which gives figures 4.6 % lower",
        ),
    ),
    compare=(
        Compare("between_ways", "choice", ("method", "sink"), base=("download_file", "tmp")),
        Compare("against_smallest_n", "scale", ("concurrency",)),
        Compare("between_memories", "scale", ("memory_size_mb",)),
    ),
    sections=(
        "choice",
        "throughput",
        "table",
        "spread",
        "overlap",
        "cold",
        *LAST_SECTIONS,
    ),
    usage=usage,
    checks=checks,
    objects=objects,
    order=order,
    work=work,
    defaults={"architecture": "x86_64", "ephemeral_storage_mb": 1200, "memory_size": 2048, "timeout_s": 60},
)
