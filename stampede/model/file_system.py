"""A mounted file system: the throughput of one client and of all, and what the page cache holds."""

from __future__ import annotations

from collections.abc import Mapping

from stampede.model.limits import Limit

MEBIBYTE = 2**20
ALL_CLIENTS = "the file system's throughput"


def limit(parameters: Mapping[str, float]) -> Limit:
    """A file system's throughput for all clients (EFS guide, quotas: 20 GiB/s of elastic reads)."""
    return Limit(ALL_CLIENTS, (parameters["efs_bytes_per_s"],))


def fits_in_page_cache(read_bytes: float, process_mb: float, memory_mb: float) -> bool:
    """Whether the files read stay in memory next to the process, so that the next read finds them
    there.

    EFS was read at 0.7 to 2.5 s a GiB after the first time at 3008 MB, and never at 1024 MB
    (published).
    """
    return read_bytes + process_mb * MEBIBYTE <= memory_mb * MEBIBYTE
