"""What each cell of a run was set to: from run.json, never from the text of the cell's id, which is only a name."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

# Terraform variable -> the record's own word for it.
IN_RECORDS = {
    "memory_size": "memory_size",
    "concurrency_value": "concurrency_limit",
    "method": "method",
    "sink": "sink",
}


def cell_name(cell: Mapping[str, Any]) -> str:
    """A cell's readable id, as it stands in messages and records: memory_size=1024,concurrency_value=5."""
    return ",".join(f"{name}={value}" for name, value in cell.items())


class CellSettings:
    """The Terraform variables of every cell of one run by the cell's id, and which repeat it is."""

    def __init__(self, manifest: Mapping[str, Any]) -> None:
        """Read run.json: the plan's matrix, then what was seen of the stack when a cell was flooded."""
        self._values: dict[str, dict[str, Any]] = {}
        self._repeats: dict[str, int] = {}
        plan = _mapping(manifest.get("plan"))
        self.fixed = _mapping(plan.get("fixed"))
        self.swept = {
            name: values for name, values in _mapping(plan.get("swept")).items() if isinstance(values, list) and values
        }
        self._read_plan(plan.get("repeats"))
        for cell in manifest.get("cells") if isinstance(manifest.get("cells"), list) else ():
            if isinstance(cell, dict) and isinstance(cell.get("cell"), str):
                self._add(cell["cell"], {name: value for name, value in cell.items() if name in self._known_names()})
                if type(cell.get("repeat")) is int and self._has_repeats(plan):
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

    def others(self, cell: object) -> str:
        """What a cell has of the swept variables that no record repeats, as `object_size_mb=4`; "" for none."""
        values = self.of(cell) or {}
        others = {name: values[name] for name in self.swept if name not in IN_RECORDS and name in values}
        return ", ".join(f"{name}={value}" for name, value in others.items() if len(self.swept[name]) > 1)

    def difference(self, record: Mapping[str, Any]) -> str | None:
        """What the record says otherwise than its cell, in words; None where they agree or one doesn't say."""
        settings = self.of(record.get("cell"))
        for name, field in IN_RECORDS.items() if settings else ():
            wanted, own = settings.get(name), record.get(field)
            if wanted is not None and own is not None and wanted != own:
                return f"{field} {own} where the cell has {wanted}"
        return None

    def _read_plan(self, repeats: object) -> None:
        count = repeats if type(repeats) is int and repeats > 1 else 1
        for values in itertools.product(*self.swept.values()) if self.swept else ():
            coordinates = dict(zip(self.swept, values, strict=True))
            for repeat in range(1, count + 1):
                name = cell_name(coordinates | ({"repeat": repeat} if count > 1 else {}))
                self._add(name, coordinates)
                if count > 1:
                    self._repeats[name] = repeat

    def _known_names(self) -> set[str]:
        return {*IN_RECORDS, *self.swept, *self.fixed}

    @staticmethod
    def _has_repeats(plan: Mapping[str, Any]) -> bool:
        return type(plan.get("repeats")) is int and plan["repeats"] > 1

    def _add(self, name: str, values: Mapping[str, Any]) -> None:
        self._values[name] = self.fixed | self._values.get(name, {}) | dict(values)


def _mapping(value: object) -> dict[str, Any]:
    return dict(value) if isinstance(value, dict) else {}
