"""What a work order of the copies says, and the objects they begin with: for a listing, or for slices of a manifest."""

from collections.abc import Mapping, Sequence
from typing import Any

from stampede.experiment.key_plan import KeyPlan
from stampede.experiment.objects import DataObject

# Keys of the work order that are its axes; the cap of calls/s is left out where there is none.
ALWAYS, NO_CAP = ("parallel_limit", "retry_mode", "retry_attempts", "pace"), 0
# One message before a flood empties the destination; it copies nothing.
EMPTYING = {"empty_first": 1, "first_slice": 0, "slices": 0}


def listing_or_slices(values: Mapping[str, Any], _: Sequence[DataObject]) -> dict[str, Any]:
    """The order of one function: with a manifest some slices of it, without one everything below the source prefix,
    into an emptied destination."""
    return of_slices(values, _) if values["from_manifest"] else {**_of_axes(values), "empty_first": 1}


def of_slices(values: Mapping[str, Any], _: Sequence[DataObject]) -> dict[str, Any]:
    """The order of slices, but for which ones."""
    return {**_of_axes(values), "manifest": slices_plan(values).manifest}


def _of_axes(values: Mapping[str, Any]) -> dict[str, Any]:
    cap = {"calls_per_s": values["calls_per_s"]} if values["calls_per_s"] != NO_CAP else {}
    return {**{name: values[name] for name in ALWAYS}, **cap}


def listed_objects(outputs: Mapping[str, Any]) -> Sequence[DataObject]:
    """Without a manifest the source: one object that is put, and server-side copies of it, `1.mp4` and so on as
    published. With one the masters."""
    if outputs["from_manifest"]:
        return masters(outputs)
    plan, prefix = KeyPlan.of(outputs["key_plan"]), outputs["source_prefix"]
    first = f"{prefix}1.mp4"
    copies = (DataObject(f"{prefix}{at}.mp4", plan.object_bytes, first) for at in range(2, plan.objects + 1))
    return [DataObject(first, plan.object_bytes), *copies]


def masters(outputs: Mapping[str, Any]) -> Sequence[DataObject]:
    """The objects of which a manifest makes copies."""
    plan = slices_plan(outputs)
    return [DataObject(key, plan.object_bytes) for key in plan.master_keys()]


def slices_plan(outputs: Mapping[str, Any]) -> KeyPlan:
    """The key plan behind the manifest. Raises KeyPlanError."""
    return KeyPlan.of(outputs["key_plan"], outputs["destination_prefix"])


def plan_of_manifest(outputs: Mapping[str, Any]) -> KeyPlan | None:
    """The key plan of one function, None where it lists."""
    return slices_plan(outputs) if outputs["from_manifest"] else None


def slices_of(values: Mapping[str, Any]) -> int:
    """Of how many slices a manifest has; a number that isn't in range the checks refuse, and they come after this."""
    plan = values.get("key_plan") or {"objects": values["object_count"], "slice_rows": values["slice_rows"]}
    return max(1, -(-plan["objects"] // max(1, plan["slice_rows"])))


def a_slice_each(values: Mapping[str, Any]) -> int | None:
    """How many messages a manifest becomes, one a slice; None, the usual number, where it is listed."""
    return slices_of(values) if values["from_manifest"] else None


def its_slice(values: Mapping[str, Any], index: int) -> dict[str, Any]:
    """Message `index` is slice `index`; nothing to say where it is listed."""
    return {"first_slice": index, "slices": 1} if values["from_manifest"] else {}


def its_share(values: Mapping[str, Any], index: int) -> dict[str, Any]:
    """The share of all slices that host `index` gets."""
    first, count = slices_plan(values).share(values["concurrency_value"], index)
    return {"first_slice": first, "slices": count}


def emptying(values: Mapping[str, Any]) -> dict[str, Any] | None:
    """What empties the destination before a flood; None where each message does so itself."""
    return EMPTYING if values["from_manifest"] else None
