"""What usage and checks of the copies know a cell by, as published, with changes."""

FUNCTION = {
    "parallel_limit": 100,
    "retry_mode": "standard",
    "retry_attempts": 4,
    "pace": "fixed",
    "calls_per_s": 0,
    "object_count": 1000,
    "object_bytes": 20_000_000,
    "slice_rows": 1000,
    "masters": 1,
    "from_manifest": False,
    "date_from": "2015-01-01",
    "date_to": "2019-12-31",
    "objects_per_folder": 5,
    "key_order": "straight",
    "data_seed": 1,
    "concurrency_value": 1,
    "memory_size": 512,
    "timeout_s": 900,
    "architecture": "x86_64",
    "instance_type": "m5a.8xlarge",
    "bucket_key": True,
}
HOST = FUNCTION | {
    "retry_mode": "legacy",
    "retry_attempts": 5,
    "object_count": 219_120,
    "object_bytes": 1_000_000,
    "slice_rows": 10_000,
}


def function(**changes):
    """A cell of functions that copy a listing of 1,000 objects of 20 MB, 100 at once."""
    return FUNCTION | changes


def slices(**changes):
    """A cell of functions that share a manifest."""
    return FUNCTION | {"from_manifest": True} | changes


def host(**changes):
    """A cell of one host with a manifest of 219,120 objects of 1 MB, 100 at once."""
    return HOST | changes
