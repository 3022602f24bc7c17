"""An experiment for tests whose messages share a manifest's slices and whose records account
for objects."""

from experiments import EXPERIMENTS, Axis, Matrix
from experiments.copy.key_plan import KeyPlan
from stampede.experiment import DataObject, SharedList

DOWNLOAD = EXPERIMENTS["download"]
PARALLEL = Axis("parallel_limit", label="parallel", in_order=True)
PLAN = KeyPlan(objects=12, object_bytes=1000, slice_rows=2, destination_prefix="copies/")
FIXED = {"concurrency_value": 2, "object_size_mb": 1, "ephemeral_storage_mb": 512}
MATRIX = Matrix(swept={"memory_size": (512,), "parallel_limit": (10, 20)}, fixed=FIXED)


def of_message(values, index):
    first, slices = PLAN.share(4, index)
    return {"manifest": PLAN.manifest, "first_slice": first, "slices": slices}


SHARES = DOWNLOAD.with_(
    name="shares",
    axes=(*DOWNLOAD.axes, PARALLEL),
    matrices={"aws": MATRIX, "local": MATRIX},
    objects=lambda outputs: [DataObject(key, 1000) for key in PLAN.master_keys()],
    order=lambda values, there: {"parallel_limit": values["parallel_limit"]},
    messages=lambda values: 4,
    of_message=of_message,
    shared_list=SharedList(lambda outputs: PLAN, lambda values: {"empty_first": 1, "slices": 0}),
)
