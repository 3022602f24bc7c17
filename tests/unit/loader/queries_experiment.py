"""An experiment for tests whose messages are Athena queries."""

from dataclasses import replace

from experiments import EXPERIMENTS, Axis
from stampede.experiment import AthenaQueries, Execution, Metric
from tests.unit.loader import shares_experiment

DOWNLOAD = EXPERIMENTS["download"]
FIXED = shares_experiment.FIXED | {"object_count": 7}
MATRIX = replace(shares_experiment.MATRIX, fixed=FIXED)
SQL = "SELECT count(*) AS row_count FROM \"t\" WHERE object_bytes = '100'"
QUERY = Execution(SQL, workgroup="w", database="d", limit_s=60.0, expected=("700",))
OWN_AXES = (
    Axis("operation", kind=str),
    shares_experiment.PARALLEL,
    Axis("object_count", label="objects", in_order=True, default=lambda *before: 7),
)
N_AND_MEMORY = tuple(
    axis for axis in DOWNLOAD.axes if axis.record_field in ("memory_size", "concurrency_limit")
)

QUERIES = DOWNLOAD.with_(
    name="queries",
    axes=(*OWN_AXES, *N_AND_MEMORY),
    metrics=(Metric("seconds", "elapsed_seconds", "seconds", "s", "spread", queried=True),),
    matrices={"aws": MATRIX, "local": MATRIX},
    objects=lambda outputs: (),
    order=lambda values, there: {"parallel_limit": values["parallel_limit"], "object_count": 7},
    messages=lambda values: 2,
    of_message=lambda values, index: {"first_object": 0, "objects": 7},
    athena=AthenaQueries("operation", ("count",), lambda values: QUERY),
)
