"""The copy experiment: one Lambda makes many parallel CopyObject calls, as published in December
2020, or N Lambdas share a manifest."""

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.copy.checks import checks
from experiments.copy.columns import CAP, LIMIT, METRICS, PACE, objects_axis, retry_axes
from experiments.copy.key_plan import CopyValues, KeyPlan, manifest_of, slices_of
from experiments.copy.usage import usage
from experiments.copy.work import published, work
from stampede.axes import concurrency_axis, memory_axis
from stampede.experiment import (
    IGNORED_LOCALLY,
    Compare,
    DataObject,
    Experiment,
    Matrix,
    Published,
    SharedList,
)
from stampede.variable_rules import DEFAULTS

PUBLISHED_CALLS = {"retry_mode": "standard", "retry_attempts": 4, "pace": "fixed", "calls_per_s": 0}
# The message before a flood that empties the destination and copies nothing.
EMPTYING = {"empty_first": 1, "first_slice": 0, "slices": 0}


class Copy(Experiment):
    name = "copy"
    question = "How many parallel CopyObject calls are worth making from one Lambda function?"
    operation = ("copy run", "copy runs")
    axes = (
        LIMIT,
        memory_axis(default=512),
        PACE,
        *retry_axes("standard", 4),
        CAP,
        objects_axis(DEFAULTS["copy"]["object_count"]),
        concurrency_axis(default=1),
    )
    metrics = METRICS
    query = "copies"
    matrices = {
        # As published: five runs at each limit.
        "aws": Matrix(
            swept={"parallel_limit": (1, 10, 20, 50, 100, 200, 500, 1000)},
            fixed=PUBLISHED_CALLS,
        ),
        "local": Matrix(
            swept={"parallel_limit": (1, 10, 50, 100)},
            fixed={"object_bytes": 10_000, **PUBLISHED_CALLS},
        ),
    }
    defaults = DEFAULTS["copy"]
    messages_per_concurrency = 5
    ignored_locally = IGNORED_LOCALLY | {"key_order": "key order"}
    published = (
        Published(
            "copy_lambda",
            "AWS, published 2020",
            "1,000 objects of 20 MB between two buckets, Go in one Lambda of 512 MB, "
            "ap-northeast-1; the published mean for a limit of 50 isn’t that of its runs, 13.39 s",
            objects=1000,
            runs_ms=("run1_ms", "run2_ms", "run3_ms", "run4_ms", "run5_ms"),
            beside_any=("object_count",),
            work=published,
        ),
    )
    compare = (
        Compare("against_smallest_n", "scale", ("concurrency",)),
        Compare("between_paces", "choice", ("pace",), base=("fixed",)),
        Compare("between_retry_modes", "choice", ("retry_mode",), base=("standard",)),
    )
    knee = ("parallel_limit", "parallel calls")
    emptied_before_destroy = ("destination_bucket_name", "bucket_name")
    # Without a manifest each message empties the destination itself and lists the source.
    shared_list = SharedList(
        manifest=lambda outputs: manifest_of(outputs) if outputs["from_manifest"] else None,
        preparation=lambda values: EMPTYING if values["from_manifest"] else None,
    )
    usage = staticmethod(usage)
    checks = staticmethod(checks)
    work = staticmethod(work)

    def objects(self, outputs: Mapping[str, Any]) -> Sequence[DataObject]:
        """The masters of the manifest. Without a manifest the source, `1.mp4` and so on as
        published: one uploaded object and server-side copies of it."""
        if (plan := self.shared_list.manifest(outputs)) is not None:
            return [DataObject(key, plan.object_bytes) for key in plan.master_keys()]
        plan, prefix = KeyPlan.of(outputs["key_plan"]), outputs["source_prefix"]
        first = f"{prefix}1.mp4"
        copies = (
            DataObject(f"{prefix}{number}.mp4", plan.object_bytes, first)
            for number in range(2, plan.objects + 1)
        )
        return [DataObject(first, plan.object_bytes), *copies]

    def order(self, values: CopyValues, objects: Sequence[DataObject]) -> dict[str, Any]:
        """The axes, and what is copied: slices of a manifest, or everything below the source prefix
        to an emptied destination."""
        plan = self.shared_list.manifest(values)
        return super().order(values, objects) | (
            {"manifest": plan.manifest} if plan else {"empty_first": 1}
        )

    def messages(self, values: CopyValues) -> int | None:
        """One message for each slice of a manifest."""
        return slices_of(values) if values["from_manifest"] else None

    def of_message(self, values: CopyValues, index: int) -> dict[str, Any]:
        return {"first_slice": index, "slices": 1} if values["from_manifest"] else {}


COPY = Copy()
