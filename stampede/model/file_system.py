"""A mounted file system: what one client gets of it, what all clients do, and what comes out of the
page cache."""

from __future__ import annotations

from collections.abc import Mapping

from stampede.model.limits import Limit

MEBIBYTE = 2**20
ALL_CLIENTS = "the file system's throughput"


def limit(parameters: Mapping[str, float]) -> Limit:
    """What one file system gives all its clients (EFS guide, quotas: 20 GiB/s of elastic reads)."""
    return Limit(ALL_CLIENTS, (parameters["efs_bytes_per_s"],))


def fits_in_page_cache(read_bytes: float, process_mb: float, memory_mb: float) -> bool:
    """Whether files that were read stay in memory beside the process, so that the next read finds
    them there.

    EFS at 3008 MB was read at 0.7 to 2.5 s a GiB but for the first time, at 1024 MB never
    (published).
    """
    return read_bytes + process_mb * MEBIBYTE <= memory_mb * MEBIBYTE
