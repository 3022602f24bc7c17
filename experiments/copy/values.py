"""What the copy experiments know a cell by."""

from stampede.experiment import Values


class CopyValues(Values):
    """The variables and keys of the work order that it reads."""

    object_count: int
    object_bytes: int
    from_manifest: bool
    slice_rows: int
    data_seed: int
    masters: int
    parallel_limit: int  # of the work order, as all below
    pace: str
    calls_per_s: int  # 0: no cap
    retry_mode: str
    retry_attempts: int


class HostValues(CopyValues):
    """Those of hosts."""

    instance_type: str
    bucket_key: bool
