"""The file system experiment: a large file and a thousand small ones, copied to /tmp from S3 and
from a mounted file system."""

from collections.abc import Sequence
from typing import Any

from experiments.filesystem.columns import AXES, FOLDER, LOOPBACK, METRICS, PUBLISHED
from experiments.filesystem.usage import (
    CONNECTIONS,
    DATASETS,
    THREADS,
    FilesystemValues,
    checks,
    objects,
    usage,
    what_arrives,
)
from experiments.filesystem.work import work
from stampede.experiment import (
    FILE_SYSTEM,
    IGNORED_LOCALLY,
    Compare,
    DataObject,
    Experiment,
    Matrix,
    PassingRefusal,
    Seeding,
)
from stampede.variable_rules import DEFAULTS


class Filesystem(Experiment):
    name = "filesystem"
    question = "Which is faster for large files, and for many small ones: S3 or EFS?"
    operation = ("copy", "copies")
    axes = AXES
    metrics = METRICS
    query = "copies"
    matrices = {
        "aws": Matrix(
            swept={
                "storage": ("s3", "s3_in_vpc", "efs"),
                "memory_size": (512, 1024, 3008),
                "dataset": DATASETS,
            },
            fixed={"threads": THREADS, "connections": CONNECTIONS},
        ),
        # Memory and subnets change nothing on one machine, and a folder stands in for the mount.
        "local": Matrix(
            swept={"storage": ("s3", "efs"), "dataset": DATASETS},
            fixed={
                "memory_size": 1024,
                "large_file_mb": 64,
                "subnet_count": 1,
                "threads": THREADS,
                "connections": CONNECTIONS,
            },
        ),
    }
    defaults = DEFAULTS["filesystem"]
    messages_per_concurrency = 11  # a first read, and as many repeats as a comparison needs
    recorded_variables = ("cache",)
    ignored_locally = IGNORED_LOCALLY | {
        "subnet_count": "the number of subnets",
        "throughput_mode": "throughput mode",
        "direct_s3_read": "direct reads from S3",
    }
    published = PUBLISHED
    compare = (
        Compare("between_storages", "choice", ("storage", "method"), base=("s3", "download_file")),
        Compare("between_reads", "choice", ("read",), base=("first",)),
        Compare("between_methods", "choice", ("method",), base=("download_file",)),
        Compare("against_smallest_n", "scale", ("concurrency",)),
        Compare("between_memories", "scale", ("memory_size_mb",)),
        Compare("between_threads", "scale", ("threads",)),
    )
    stand_ins = {"storage": {"efs": FOLDER, "s3files": FOLDER, "s3_in_vpc": LOOPBACK}}
    untried = {"storage": ("s3files",)}
    # A mount makes its own requests, and to another bucket.
    not_logged = {"storage": ("efs", "s3files")}
    needs = (FILE_SYSTEM,)
    # The provider's words for a CloudFormation stack; those of S3 Files aren't published.
    passing_refusal = PassingRefusal(
        r"CloudFormation Stack \(\S+-s3files/\S+\) delete",
        "S3 Files deletes a file system only once its changes are exported to the bucket",
        wait_s=300,
    )
    seeding = Seeding("placing_function_name", lambda values: ({},))
    usage = staticmethod(usage)
    checks = staticmethod(checks)
    work = staticmethod(work)
    objects = staticmethod(objects)

    def order(self, values: FilesystemValues, objects: Sequence[DataObject]) -> dict[str, Any]:
        """The axes, and the files and bytes that must arrive."""
        return super().order(values, objects) | what_arrives(values)

    def proof(self, values: FilesystemValues) -> dict[str, Any]:
        return {"proof": 1}


FILESYSTEM = Filesystem()
