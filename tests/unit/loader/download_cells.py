"""Cells of the download experiment in numbers, as the checks and the bill take them."""

from experiments import EXPERIMENTS
from stampede.cell import Cell
from stampede.planning.demand import Demand
from stampede.planning.plan import complete
from stampede.stacks.infra_variables import infra_defaults

DOWNLOAD = EXPERIMENTS["download"]


def a_cell(
    concurrency=1,
    messages=10,
    warm_up_messages=0,
    memory_mb=2048,
    barrier_s=0.0,
    pollers=None,
    longest_s=13.24,
    **variables,
):
    """One cell of a function of 2,048 MB; `variables` are others than infra's defaults."""
    settings = {"concurrency_value": concurrency, "memory_size": memory_mb} | variables
    values = complete(DOWNLOAD, infra_defaults({}) | settings)
    cell = Cell("cell", values, DOWNLOAD.axes, messages=messages, warm_up_messages=warm_up_messages)
    return Demand(
        cell,
        usage=DOWNLOAD.usage(values),
        barrier_s=barrier_s,
        pollers=pollers,
        longest_s=longest_s,
    )
