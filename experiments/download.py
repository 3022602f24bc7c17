"""The download experiment: N functions at once download the same object from S3, as published in January 2025."""

from experiments.experiment import Axis, Experiment, Matrix

DOWNLOAD = Experiment(
    name="download",
    question="What do N Lambdas at once really get from S3?",
    axes=(
        Axis("memory_size", "memory_size"),
        Axis("concurrency_value", "concurrency_limit"),
        Axis("method", "method"),
        Axis("sink", "sink"),
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
)
