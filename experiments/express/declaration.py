"""The storage class experiment: the same objects in S3 Standard and in S3 Express One Zone are
uploaded, downloaded, and queried by Athena, as published in December 2023."""

from typing import Any

from experiments.express import orders
from experiments.express.checks import checks
from experiments.express.columns import AXES, GENERAL_BUCKET, METRICS, PUBLISHED, PUBLISHED_BYTES
from experiments.express.orders import ExpressValues
from experiments.express.usage import tariffs, usage
from experiments.express.work import work
from experiments.go_program import of_this_machine
from stampede.experiment import (
    DIRECTORY_BUCKETS,
    IGNORED_LOCALLY,
    AthenaQueries,
    BySize,
    Compare,
    Experiment,
    Matrix,
    Seeding,
)
from stampede.variable_rules import DEFAULTS

# A query has no parallel calls of ours, and Athena queues queries itself.
QUERIES = {"operation": orders.QUERIES, "parallel_limit": 1, "concurrency_value": 1}


class Express(Experiment):
    name = "express"
    question = "Is S3 Express One Zone worth it for your object size?"
    operation = ("operation", "operations")
    axes = AXES
    metrics = METRICS
    query = "objects"
    matrices = {
        # One request at a time and ten repeats at once, as published; then more object sizes; then
        # Athena.
        "aws": Matrix(
            swept={
                "operation": (orders.UPLOAD, orders.DOWNLOAD),
                "storage_class": orders.CLASSES,
                "object_bytes": PUBLISHED_BYTES,
                "parallel_limit": (1,),
                "concurrency_value": (10,),
            },
            fixed={"placement": "any_zone"},
            also=(
                {
                    "object_bytes": tuple(10**power for power in range(3, 9)),
                    "parallel_limit": (64,),
                    "concurrency_value": (1,),
                },
                QUERIES,
            ),
        ),
        "local": Matrix(
            swept={
                "operation": (orders.UPLOAD, orders.DOWNLOAD),
                "storage_class": orders.CLASSES,
                "object_bytes": (1000, 10_000, 100_000, 1_000_000, 100_000_000),
                "parallel_limit": (1,),
                "concurrency_value": (1,),
            },
            fixed={"placement": "any_zone", "architecture": of_this_machine()},
            also=(
                {"object_bytes": (10_000,), "parallel_limit": (16,)},
                {**QUERIES, "object_bytes": (10_000,)},
            ),
            rest={"object_count": orders.local_count},
        ),
    }
    defaults = DEFAULTS["express"]
    published = PUBLISHED
    compare = (
        Compare("between_classes", "choice", ("storage_class",), base=(orders.STANDARD,)),
        Compare("between_limits", "scale", ("parallel_limit",)),
        Compare("between_placements", "choice", ("placement",), base=("any_zone",)),
    )
    ignored_locally = IGNORED_LOCALLY | {"placement": "placement", "zone_id": "the zone"}
    stand_ins = {"storage_class": {orders.ONE_ZONE: GENERAL_BUCKET}}
    untried = {"storage_class": (orders.ONE_ZONE,)}
    # Directory buckets have no server access logs.
    not_logged = {"storage_class": (orders.ONE_ZONE,)}
    by_size = BySize(
        "storage_class",
        "object_bytes",
        "object_count",
        moves=("operation", {orders.UPLOAD: "write", orders.DOWNLOAD: "read"}),
        tariffs=tariffs,
    )
    needs = (DIRECTORY_BUCKETS,)
    emptied_before_destroy = ("express_bucket_name", "bucket_name")
    seeding = Seeding("placing_function_name", orders.seeding)
    athena = AthenaQueries("operation", orders.QUERIES, orders.execution)
    usage = staticmethod(usage)
    checks = staticmethod(checks)
    work = staticmethod(work)
    messages = staticmethod(orders.messages)
    of_message = staticmethod(orders.its_slice)

    def proof(self, values: ExpressValues) -> dict[str, Any]:
        """The first object alone."""
        return {"first_object": 0, "objects": 1}


EXPRESS = Express()
