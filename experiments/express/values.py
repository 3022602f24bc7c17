"""What the storage class experiment knows a cell by."""

from stampede.experiment import Values


class ExpressValues(Values):
    """The variables and keys of the work order that it reads."""

    placement: str
    query_limit_s: int
    scan_limit_mb: int
    operation: str
    object_count: int
    object_bytes: int
    storage_class: str  # of the work order, as all below
    parallel_limit: int
    slices: int
