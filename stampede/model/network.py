"""The network of a function: a bucket of tokens for a burst, and what flows after it; and what a
VPC lets through.

Skyrise (arXiv 2501.07771): 1.2 GiB/s until about 300 MiB are through, then 75 MiB/s, the same at
every memory size; when the function pauses, half of the bucket refills. The quota "Network
bandwidth per execution environment" (AWS, August 2026) raises the rate after the burst by memory,
outside of VPCs only.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

QUOTA_FROM_MB, QUOTA_TO_MB = 2048, 10240
# Operations since the last refill beyond which none is looked at: 0.55 ^ 64 of them all.
_MOST_SINCE_REFILL = 64


def sustained_bytes_per_s(memory_mb: float, parameters: Mapping[str, float], quota: bool) -> float:
    """What flows after the burst. With the quota linear in memory from 2 to 10 GB, and never less
    than without (what it gives below 2 GB AWS doesn't say)."""
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
    """The seconds in which bytes pass when so many `tokens` (bytes) are left for the burst, one
    figure for each."""
    at_once = np.minimum(tokens, transferred_bytes)
    return at_once / burst_bytes_per_s + (transferred_bytes - at_once) / sustained_bytes_per_s


def cold_tokens(parameters: Mapping[str, float]) -> tuple[np.ndarray, np.ndarray]:
    """What a new environment finds in its bucket, as (bytes, share of the cases): all of it."""
    return np.array([parameters["network_burst_bytes"]]), np.ones(1)


def warm_tokens(
    transferred_bytes: float, parameters: Mapping[str, float]
) -> tuple[np.ndarray, np.ndarray]:
    """What later operations, which each transfer so many bytes, find in the bucket, as (bytes,
    share of the cases).

    A share `network_refilled` of them comes after a pause that refilled half of it; each of the
    others finds what the one before it left. So the number of operations since the last refill is
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
