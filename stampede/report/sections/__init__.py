"""The sections of the report. Each is a function of a module here and a macro of the template beside it.

An experiment's declaration names its sections, in order; one that has nothing to show is None and leaves no trace.
"""

from collections.abc import Callable, Mapping

from stampede.report.sections import (
    about,
    athena,
    by_size,
    cost,
    downloads,
    knee,
    memory,
    messages,
    objects,
    overlap,
    rate,
    server_side,
    table,
    throughput,
    times,
    variants,
)
from stampede.report.sections.page import Block, Page

__all__ = ["SECTIONS", "Block", "Page"]

SECTIONS: Mapping[str, Callable[[Page], Block | None]] = {
    "accounting": messages.accounting,
    "athena": athena.athena,
    "by_size": by_size.by_size,
    "choice": variants.choice,
    "cold": times.cold,
    "cost": cost.cost,
    "counting": about.counting,
    "crossover": variants.crossover,
    "downloads": downloads.downloads,
    "environment": about.environment,
    "errors": messages.errors,
    "evidence": about.evidence,
    "knee": knee.knee,
    "memory": memory.memory,
    "objects": objects.objects,
    "overlap": overlap.overlap,
    "rate": rate.rate,
    "reads": variants.reads,
    "server_side": server_side.server_side,
    "spread": times.spread,
    "table": table.table,
    "throughput": throughput.throughput,
}
