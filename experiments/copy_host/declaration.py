"""The copy from a host: one EC2 instance copies a long list of objects within one bucket until S3
answers SlowDown, as published in October 2019, or N instances share the list."""

from functools import partial
from typing import Any

from experiments.copy.checks import host_checks
from experiments.copy.columns import CAP, LIMIT, PACE, objects_axis, retry_axes
from experiments.copy.declaration import EMPTYING, Copy
from experiments.copy.key_plan import STRAIGHT, HostValues, manifest_of
from experiments.copy.usage import host_usage
from experiments.copy_host.work import AWS_CLI, BOTO3, published, work
from stampede.axes import Axis, concurrency_axis
from stampede.experiment import IGNORED_LOCALLY, KEYS, Compare, Matrix, Published, SharedList
from stampede.variable_rules import DEFAULTS

USUAL_TYPE = "m5a.8xlarge"
PUBLISHED_CALLS = {"retry_mode": "legacy", "retry_attempts": 5, "pace": "fixed", "calls_per_s": 0}
# The programs that were compared, by their names in the published table.
PROGRAMS = {
    "aws_cli_xargs": ("AWS CLI", "AWS CLI through xargs", AWS_CLI),
    "python_boto3": ("boto3", "one Python program", BOTO3),
}


class CopyHost(Copy):
    name = "copy_host"
    question = "How fast can one EC2 host copy objects before S3 throttles it?"
    worker = ("host", "hosts")
    axes = (
        LIMIT,
        *retry_axes("legacy", 5),
        Axis("instance_type", label="instance", kind=str, default=USUAL_TYPE),
        Axis("key_order", words="{} keys", kind=str, default=STRAIGHT),
        PACE,
        CAP,
        objects_axis(DEFAULTS["copy_host"]["object_count"]),
        concurrency_axis(default=1),
    )
    matrices = {
        "aws": Matrix(
            swept={"parallel_limit": (100, 200, 400, 800, 1000, 1500, 2000)},
            fixed=PUBLISHED_CALLS,
        ),
        "local": Matrix(
            swept={"parallel_limit": (10, 50, 100)},
            fixed={
                "object_count": 3000,
                "object_bytes": 10_000,
                "slice_rows": 500,
                **PUBLISHED_CALLS,
            },
        ),
    }
    defaults = DEFAULTS["copy_host"]
    messages_per_concurrency = 1
    # The instance type decides about memory and processor, and a host has no time limit.
    unused = (
        "architecture",
        "memory_size",
        "timeout_s",
        "maximum_concurrency",
        "provisioned_pollers",
    )
    ignored_locally = IGNORED_LOCALLY | {
        "instance_type": "instance type",
        "key_order": "key order",
        "bucket_key": "the bucket key",
    }
    published = (
        Published(
            "copy_host_rate",
            "AWS, published 2019",
            "219,120 objects of 1 MB inside one bucket with SSE-KMS, boto3 on one host, "
            "m5a.8xlarge unless another type is named, with a process for each call",
            columns={"parallel_limit": "processes"},
            objects=219_120,
            beside_any=("object_count",),
            work=published,
        ),
        Published(
            "copy_host_retries",
            "AWS, published 2019, 2,191,200 objects",
            "2,191,200 objects of 1 MB, 800 processes on one m5a.8xlarge, the mean of three runs",
            columns={"avg_s": "seconds"},
            fixed={"parallel_limit": 800, "object_count": 2_191_200},
            # In legacy mode boto3's max_attempts counts retries without the first attempt: the
            # default of 4 means 5 attempts.
            cell=lambda row: {"retry_attempts": int(row["sdk_retries"]) + 1},
            objects=2_191_200,
            beside_any=("object_count",),
            work=published,
        ),
        *(
            Published(
                "copy_host_cli",
                f"{name}, published 2019",
                f"10,800 objects by {words}, 100 at once; the instance type isn’t published",
                columns={"parallel_limit": "parallel", "avg_s": "seconds"},
                fixed={"object_count": 10_800},
                only={"program": program},
                objects=10_800,
                beside_any=("object_count", "instance_type"),
                work=partial(published, program=client),
            )
            for program, (name, words, client) in PROGRAMS.items()
        ),
    )
    compare = (
        Compare("against_smallest_n", "scale", ("concurrency",)),
        Compare("between_paces", "choice", ("pace",), base=("fixed",)),
        Compare("between_key_orders", "choice", ("key_order",), base=(STRAIGHT,)),
        Compare("between_instances", "choice", ("instance_type",), base=(USUAL_TYPE,)),
    )
    needs = (KEYS,)
    emptied_before_destroy = ("bucket_name",)
    shared_list = SharedList(manifest_of, preparation=lambda values: EMPTYING)
    usage = staticmethod(host_usage)
    checks = staticmethod(host_checks)
    work = staticmethod(work)

    def messages(self, values: HostValues) -> int:
        """One message for each host."""
        return values["concurrency_value"]

    def of_message(self, values: HostValues, index: int) -> dict[str, Any]:
        """The slices that host `index` copies."""
        first, count = manifest_of(values).share(values["concurrency_value"], index)
        return {"first_slice": first, "slices": count}


COPY_HOST = CopyHost()
