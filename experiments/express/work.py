"""One operation of the storage classes in the words of the model: a slice that our Go program or
the published loop uploads or downloads, or an Athena query."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from experiments.express.orders import (
    AGGREGATE,
    QUERIES,
    STANDARD,
    UPLOAD,
    ExpressValues,
    set_bytes,
    slice_objects,
)
from experiments.parameters import known_parameters
from stampede.model.parameters import Parameters
from stampede.model.work import Step, Work

if TYPE_CHECKING:
    from stampede.model.operation import Operation

GIB = 2**30
# A slice ends well within the 15 minutes of a function.
SLICE_S, MOST_SLICES = 600, 1000
# The larger of the published queries, over 100 objects of 100 MB.
LARGE_BYTES = 100 * 100e6


def work(values: ExpressValues, parameters: Parameters) -> Work:
    """One message: a slice of the set by our Go program, `parallel_limit` objects at a time, or a
    query."""
    if values["operation"] in QUERIES:
        return _query(values, parameters)
    return Work(
        [_transferring(values, parameters, slice_objects(values)[1])],
        network="vpc" if values["placement"] == "same_zone" else "function",
        spread=parameters["spread"],
        cold_s=parameters["go_start_s"],
    )


def alone(values: ExpressValues) -> Operation:
    """One message of a cell on AWS with no other load. The checks, which come later, refuse memory
    sizes out of range."""
    # Imported here because it loads numpy, and `stampede --help` needs only the declarations.
    from stampede.model import function

    parameters = known_parameters("express")
    return function.operation(work(values, parameters), max(1, values["memory_size"]), parameters)[
        0
    ]


def usual_slices(
    operation: str,
    storage_class: str,
    object_bytes: int,
    parallel_limit: int,
    count: int,
    *_: object,
) -> int:
    """The default number of messages for a set of `count` objects: as few as end within SLICE_S,
    given the latency and bytes of their requests and the sustained rate of a function's network."""
    if operation in QUERIES:
        return 1
    values = {
        "operation": operation,
        "storage_class": storage_class,
        "object_bytes": object_bytes,
        "parallel_limit": parallel_limit,
    }
    parameters = known_parameters("express")
    step = _transferring(values, parameters, count)
    seconds = max(
        step.requests * step.request_s / step.at_once,
        step.bytes / parameters["network_bytes_per_s"],
    )
    return max(1, min(-(-int(seconds) // SLICE_S), count, MOST_SLICES))


def published(values: ExpressValues, parameters: Parameters) -> Work:
    """The published operation: all objects in one boto3 loop on a host, or the query."""
    if values["operation"] in QUERIES:
        return _query(values, parameters)
    own_s = parameters[f"host_{values['operation']}_{values['storage_class']}_s"]
    one_s = own_s + values["object_bytes"] / parameters["host_bytes_per_s"]
    looping = Step("transferring objects", requests=values["object_count"], request_s=one_s)
    return Work([looping], network="host", spread=parameters["spread"])


def _transferring(values: ExpressValues, parameters: Parameters, objects: float) -> Step:
    """Transferring `objects`, a request each, which waits for the answer and then for the
    bytes."""
    size, transferred = values["object_bytes"], objects * values["object_bytes"]
    service = "s3" if values["storage_class"] == STANDARD else "express"
    rate = f"{service}_put" if values["operation"] == UPLOAD else f"{service}_get"
    return Step(
        "transferring objects",
        requests=objects,
        request_s=parameters[f"{rate}_s"] + size / parameters["s3_connection_bytes_per_s"],
        at_once=max(1.0, min(values["parallel_limit"], objects)),
        rate=rate,
        bytes=transferred,
        cpu_s=objects * parameters["request_cpu_s"]
        + transferred / GIB * parameters["go_stream_tmp_cpu_s_per_gib"],
        threads=math.inf,
    )


def _query(values: ExpressValues, parameters: Parameters) -> Work:
    """A query: seconds for its bytes (the same up to 10 GB) and for each object. An aggregate takes
    a share of a count's seconds."""
    kind = values["storage_class"]
    share = parameters["athena_aggregate_share"] if values["operation"] == AGGREGATE else 1.0
    reading = Step(
        "reading objects",
        fixed_s=share * parameters[f"athena_{kind}_s"] * max(1.0, set_bytes(values) / LARGE_BYTES),
        requests=values["object_count"],
        request_s=share * parameters[f"athena_{kind}_object_s"],
    )
    return Work([reading], network="host", spread=parameters["query_spread"])
