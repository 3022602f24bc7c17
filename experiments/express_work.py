"""What one operation of the storage classes does, in quantities: a slice put or read by our Go program or by the
published loop, or a query of Athena's."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from experiments.express_orders import AGGREGATE, QUERIES, STANDARD, UPLOAD
from experiments.express_usage import LARGE_BYTES, set_bytes, slice_objects
from model.parameters import Parameters
from model.work import Step, Work

GIB = 2**30


def work(values: Mapping[str, Any], parameters: Parameters) -> Work:
    """One message: its slice of the set by our Go program, `parallel_limit` objects at a time, or a query."""
    if values["operation"] in QUERIES:
        return _query(values, parameters)
    _, objects = slice_objects(values)
    size, moved = values["object_bytes"], objects * values["object_bytes"]
    rate = ("s3" if values["storage_class"] == STANDARD else "express") + (
        "_put" if values["operation"] == UPLOAD else "_get"
    )
    moving = Step(
        "moving objects",
        requests=objects,
        # A connection has one object at a time: it waits for the answer, then for the bytes.
        request_s=parameters[f"{rate}_s"] + size / parameters["s3_connection_bytes_per_s"],
        at_once=max(1.0, min(values["parallel_limit"], objects)),
        rate=rate,
        bytes=moved,
        cpu_s=objects * parameters["request_cpu_s"] + moved / GIB * parameters["cpu_s_per_gib"],
        threads=math.inf,
    )
    return Work(
        [moving],
        network="vpc" if values["placement"] == "same_zone" else "function",
        spread=parameters["spread"],
        cold_s=parameters["go_start_s"],
    )


def published(values: Mapping[str, Any], parameters: Parameters) -> Work:
    """What was published: all objects in one loop of boto3's on a host, or the query."""
    if values["operation"] in QUERIES:
        return _query(values, parameters)
    own_s = parameters[f"host_{values['operation']}_{values['storage_class']}_s"]
    one_s = own_s + values["object_bytes"] / parameters["host_bytes_per_s"]
    looping = Step("moving objects", requests=values["object_count"], request_s=one_s)
    return Work([looping], network="host", spread=parameters["spread"])


def _query(values: Mapping[str, Any], parameters: Parameters) -> Work:
    """A query: what it takes for bytes (up to 10 GB as long as for those), and for each object; an
    aggregate its share of a count's seconds."""
    kind = values["storage_class"]
    share = parameters["athena_aggregate_share"] if values["operation"] == AGGREGATE else 1.0
    reading = Step(
        "reading objects",
        fixed_s=share * parameters[f"athena_{kind}_s"] * max(1.0, set_bytes(values) / LARGE_BYTES),
        requests=values["object_count"],
        request_s=share * parameters[f"athena_{kind}_object_s"],
    )
    return Work([reading], network="host", spread=parameters["query_spread"])
