"""A function's network: a bucket of tokens for a burst, the rate after it, and what a VPC lets
through.

Skyrise (arXiv 2501.07771): 1.2 GiB/s for the first 300 MiB or so, then 75 MiB/s, the same at every
memory size; when the function pauses, half of the bucket refills. The quota "Network bandwidth per
execution environment" (AWS, August 2026) raises the rate after the burst by memory, outside of VPCs
only.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

QUOTA_FROM_MB, QUOTA_TO_MB = 2048, 10240
# Operations since the last refill that are looked at: 0.55 ^ 64 of all have more.
_MOST_SINCE_REFILL = 64


def sustained_bytes_per_s(memory_mb: float, parameters: Mapping[str, float], quota: bool) -> float:
    """The rate after the burst. With the quota, it is linear in memory from 2 to 10 GB, and never
    below the rate without it (AWS doesn't state it below 2 GB)."""
    without = parameters["network_bytes_per_s"]
    if not quota:
        return without
    least, most = parameters["quota_2_gb_bytes_per_s"], parameters["quota_10_gb_bytes_per_s"]
    share = (memory_mb - QUOTA_FROM_MB) / (QUOTA_TO_MB - QUOTA_FROM_MB)
    return max(without, least + min(1.0, share) * (most - least)) if share >= 0 else without


def seconds(
    transferred_bytes: float,
    tokens: np.ndarray,
    burst_bytes_per_s: float,
    sustained_bytes_per_s: float,
) -> np.ndarray:
    """The seconds in which the bytes pass, for each number of `tokens` (bytes) left for the
    burst."""
    at_once = np.minimum(tokens, transferred_bytes)
    return at_once / burst_bytes_per_s + (transferred_bytes - at_once) / sustained_bytes_per_s


def cold_tokens(parameters: Mapping[str, float]) -> tuple[np.ndarray, np.ndarray]:
    """A full bucket, as a new environment has it, as (bytes, share of the cases)."""
    return np.array([parameters["network_burst_bytes"]]), np.ones(1)


def warm_tokens(
    transferred_bytes: float, parameters: Mapping[str, float]
) -> tuple[np.ndarray, np.ndarray]:
    """What the bucket holds for later operations, each of `transferred_bytes`, as (bytes, share of
    the cases).

    A share `network_refilled` of them follows a pause that refilled half of the bucket; each of the
    others has what the one before it left. So the number of operations since the last refill is
    geometric.
    """
    refilled = parameters["network_refilled"]
    if refilled >= 1:
        return np.array([_half(parameters)]), np.ones(1)
    since = np.arange(_MOST_SINCE_REFILL)
    shares = refilled * (1 - refilled) ** since
    tokens = np.maximum(0.0, _half(parameters) - since * transferred_bytes)
    levels, at = np.unique(tokens, return_inverse=True)
    summed = np.bincount(at, weights=shares)
    return levels, summed / summed.sum()


def _half(parameters: Mapping[str, float]) -> float:
    return parameters["network_burst_bytes"] * parameters["network_refill_share"]
