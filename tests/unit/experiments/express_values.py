"""Cells of the storage class experiment, as its usage and its checks are handed them."""

SMALL, LARGE = 10_000, 100_000_000


def cell(operation="download", storage_class="standard", **values):
    """A cell of 77,577 objects of 10 KB, one after the other by one function in one slice."""
    return {
        "operation": operation,
        "storage_class": storage_class,
        "object_bytes": SMALL,
        "object_count": 77_577,
        "parallel_limit": 1,
        "slices": 1,
        "placement": "any_zone",
        "memory_size": 2048,
        "concurrency_value": 1,
        "ephemeral_storage_mb": 8192,
        "architecture": "arm64",
        "scan_limit_mb": 20_000,
        "query_limit_s": 600,
        "timeout_s": 900,
        "region": "us-east-1",
        "zone_id": None,
        "express_bucket_name": None,
    } | values
