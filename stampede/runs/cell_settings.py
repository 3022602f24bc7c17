"""What each cell of a run was set to: from run.json, never from the text of the cell's id, which is only a name."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from experiments import of_run


class Difference(NamedTuple):
    """What a record has in `field`, and what its cell was set to."""

    field: str
    own: Any
    wanted: Any

    def __str__(self) -> str:
        return f"{self.field} {self.own} where the cell has {self.wanted}"


class CellSettings:
    """The Terraform variables of every cell of one run by the cell's id, and which repeat it is."""

    def __init__(self, manifest: Mapping[str, Any]) -> None:
        """Read run.json: the plan's matrix, then what was seen of the stack when a cell was flooded.

        Raises UsageError for an experiment that isn't there.
        """
        self._values: dict[str, dict[str, Any]] = {}
        self._repeats: dict[str, int] = {}
        self._blocks: dict[str, str] = {}
        experiment = of_run(manifest)
        self._in_records = experiment.record_fields
        self._recorded = {*self._in_records, *experiment.recorded_variables}
        plan = _mapping(manifest.get("plan"))
        self.fixed = _mapping(plan.get("fixed"))
        self.swept = {
            name: values for name, values in _mapping(plan.get("swept")).items() if isinstance(values, list) and values
        }
        self._has_repeats = type(plan.get("repeats")) is int and plan["repeats"] > 1
        planned = plan.get("cells") or _older_plan(self.swept, plan.get("repeats"))
        self.planned = [str(name) for name in _listed(plan.get("order")) or [cell.get("cell") for cell in planned]]
        for cell in _cells(planned):
            block = {name: value for name, value in cell.items() if name not in {"cell", *experiment.order_axes}}
            self._blocks[cell["cell"]] = json.dumps(block, sort_keys=True)
        known = {*self._in_records, *self.swept, *self.fixed}
        for cell in [*_cells(planned), *_cells(manifest.get("cells"))]:
            self._add(cell["cell"], {name: value for name, value in cell.items() if name in known})
            if self._has_repeats and type(cell.get("repeat")) is int:
                self._repeats[cell["cell"]] = cell["repeat"]
        for name, values in _mapping(manifest.get("settings")).items():
            self._add(name, _mapping(values))

    def of(self, cell: object) -> dict[str, Any] | None:
        """The variables of a cell that are known; None for an id that the run doesn't know."""
        return self._values.get(cell) if isinstance(cell, str) else None

    def names(self) -> list[str]:
        """The ids of all cells, in the order of plan and floods."""
        return list(self._values)

    def repeat(self, cell: object) -> int | None:
        """Which repeat a cell is, None in a run without repeats."""
        return self._repeats.get(cell) if isinstance(cell, str) else None

    def block(self, cell: str) -> str:
        """What names the stack that a cell ran on, and its repeat: cells that share it were interleaved, where they had
        rounds."""
        return self._blocks.get(cell, cell)

    def others(self, cell: object) -> str:
        """What a cell has of the swept variables that no record repeats, as `object_size_mb=4`; "" for none."""
        values = self.of(cell) or {}
        unrecorded = {name: values[name] for name in self.swept if name not in self._recorded and name in values}
        return ", ".join(f"{name}={_text(value)}" for name, value in unrecorded.items() if len(self.swept[name]) > 1)

    def difference(self, record: Mapping[str, Any]) -> Difference | None:
        """What the record says otherwise than its cell; None where they agree or one doesn't say."""
        settings = self.of(record.get("cell"))
        for name, field in self._in_records.items() if settings else ():
            wanted, own = settings.get(name), record.get(field)
            if wanted is not None and own is not None and wanted != own:
                return Difference(field, own, wanted)
        return None

    def _add(self, name: str, values: Mapping[str, Any]) -> None:
        self._values[name] = self.fixed | self._values.get(name, {}) | dict(values)


def _older_plan(swept: Mapping[str, list[Any]], repeats: object) -> list[dict[str, Any]]:
    """The cells of a plan that doesn't list them: every combination, named as all runs of then named them."""
    count = repeats if type(repeats) is int and repeats > 1 else 1
    cells = []
    for values in itertools.product(*swept.values()) if swept else ():
        coordinates = dict(zip(swept, values, strict=True))
        for repeat in range(1, count + 1):
            named = coordinates | ({"repeat": repeat} if count > 1 else {})
            cells.append(coordinates | {"cell": ",".join(f"{n}={v}" for n, v in named.items()), "repeat": repeat})
    return cells


def _cells(value: object) -> list[dict[str, Any]]:
    """The cells that have a name."""
    return [cell for cell in _listed(value) if isinstance(cell, dict) and isinstance(cell.get("cell"), str)]


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _mapping(value: object) -> dict[str, Any]:
    return dict(value) if isinstance(value, dict) else {}
