"""The figures of a cell, and those that many experiments have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Metric:
    """One figure of a cell, made of the record's `field`, `name` where they are the same; `better` is its direction.

    `how`: "spread" (count, extremes, quartiles, mean), "rate" (`bytes` over the first metric, Mbit/s), "per_second"
    (operations over the first metric), "per_gib" (its sum over the GiB that were transferred), "mean", or "sum". One
    that is `queried` is a column of the saved query and of cells.csv; the others are counted from the records alone.
    `label` and `unit` head its column, `short` a narrow one; `reading` is a sentence under the table that has one.
    """

    name: str
    field: str = ""
    label: str = ""
    unit: str = ""
    how: Literal["spread", "rate", "per_second", "per_gib", "mean", "sum"] = "mean"
    better: Literal["lower", "higher"] = "lower"
    queried: bool = False
    digits: int = 0
    short: str = ""
    reading: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "field", self.field or self.name)
        object.__setattr__(self, "label", self.label or self.name.replace("_", " "))


# What many operations have: bytes that they transfer, requests, and what the client needs for them.
MBIT_PER_S = Metric("mbit_per_s", "bytes", "per function", "Mbit/s", "rate", "higher", queried=True)
CPU_S_PER_GIB = Metric("cpu_s_per_gib", "client_cpu_seconds", "CPU", "s/GiB", "per_gib", queried=True, digits=2)
RETRIES = Metric("retries", how="sum", queried=True, short="re-\ntry")
REQUESTS = Metric("requests", how="sum")
PEAK_MEMORY_MB = Metric(
    "peak_memory_mb",
    label="peak memory",
    unit="MiB",
    digits=1,
    reading="“peak memory” is the most that the process has used since it started, earlier cells included, as Linux "
    "counts it: to a MiB or two.",
)
CPU_S = Metric("cpu_s", "client_cpu_seconds", "CPU", "s", digits=2)
