"""An experiment for tests with two axes of the work order and a data set of many objects."""

from experiments import EXPERIMENTS, Axis, Matrix
from stampede.experiment import DataObject

DOWNLOAD = EXPERIMENTS["download"]
ORDER_AXES = (
    Axis("data_set", "dataset", "dataset", kind=str, in_order=True),
    Axis("threads", in_order=True),
)
MATRIX = Matrix(
    swept={"memory_size": (512, 1024), "dataset": ("large", "small"), "threads": (1, 30)},
    fixed={"concurrency_value": 2, "object_size_mb": 1, "ephemeral_storage_mb": 512},
)
SMALL = [DataObject(f"small/{number}", 1000 + number) for number in range(20)]
READS = DOWNLOAD.with_(
    name="reads",
    operation=("read", "reads"),
    axes=(*DOWNLOAD.axes, *ORDER_AXES),
    matrices={"aws": MATRIX, "local": MATRIX},
    objects=lambda outputs: [*DOWNLOAD.objects(outputs), *SMALL],
    order=lambda values, there: {
        "dataset": values["dataset"],
        "threads": values["threads"],
        "objects": len(there),
    },
)
