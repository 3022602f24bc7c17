"""The prices of a run's estimate, as the sweep stored them in run.json."""

import math
from collections.abc import Mapping

from stampede.cell import Cell
from stampede.experiment import Tariff
from stampede.report.run import Run

BYTES_IN_A_GB = 2**30  # AWS's GB for storage and memory


def stored(run: Run) -> dict[str, float]:
    """USD by price name; empty if nothing ran on AWS. A run that didn't store all prices has those
    of its bill's lines."""
    cost = run.manifest.get("cost")
    if run.target != "aws" or not isinstance(cost, dict):
        return {}
    items = cost.get("items") if isinstance(cost.get("items"), list) else []
    usd_by_name = {
        item.get("price"): item.get("usd_per_unit") for item in items if isinstance(item, dict)
    }
    usd_by_name |= cost["prices"] if isinstance(cost.get("prices"), dict) else {}
    usable = {
        name: usd
        for name, usd in usd_by_name.items()
        if isinstance(name, str) and type(usd) in (int, float)
    }
    return {name: usd for name, usd in usable.items() if math.isfinite(usd)}


def architecture(run: Run, key: Cell) -> str | None:
    """The architecture of a cell's functions, as planned or flooded; None if its repeats differ."""
    usual = run.experiment.defaults.get("architecture")
    cells = [cell for name, cell in run.cells.items() if run.key_of(name) == key] or list(
        run.cells.values()
    )
    names = {str(cell.values.get("architecture") or usual) for cell in cells}
    return names.pop() if len(names) == 1 else None


def mb_second_usd(run: Run, prices: Mapping[str, float], key: Cell) -> float | None:
    """The price of one MB of a cell's memory for a second; None if unknown."""
    gb_second_usd = prices.get(f"lambda_gb_s_{architecture(run, key)}")
    return None if gb_second_usd is None else gb_second_usd / 1024


def tariffs(run: Run) -> Mapping[str, Tariff]:
    """The tariff of each storage class; empty if none are compared, or a price is unknown."""
    return (run.experiment.by_size and run.experiment.by_size.tariffs(stored(run))) or {}


def moved_usd(tariff: Tariff, moves: str, size_bytes: float) -> float:
    """The price of writing or reading an object (`moves`: "write", "read"): one request, and its
    bytes."""
    size_gb = size_bytes / BYTES_IN_A_GB
    if moves == "write":
        return tariff.write_usd + size_gb * tariff.write_gb_usd
    return tariff.read_usd + size_gb * tariff.read_gb_usd
