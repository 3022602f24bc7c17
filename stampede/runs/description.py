"""run.json: what a run was planned to do, where and with what it ran, and which cells are finished."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from stampede.cell import FORMAT, Cell
from stampede.errors import UsageError
from stampede.model.parameters import Parameters
from stampede.model.prediction import Prediction
from stampede.runs.folder import RunFolder
from stampede.stacks.account import describe_account
from stampede.stacks.target import Target
from stampede.stacks.terraform import Terraform

# What a run that goes on keeps.
_KEPT = ("started_at", "finished_at", "cells", "begun", "finished", "account", "versions", "prediction")


class RunDescription:
    """The run.json of one run, of a sweep or of floods by hand; written whole after every change, so that a kill -9
    leaves the last state."""

    def __init__(self, folder: RunFolder, experiment: str, place: Mapping[str, Any], **parts: Any) -> None:
        """Begin a new description, or take up the one that the folder holds; `parts` are the plan of a sweep, its cells
        and its cost."""
        self._folder = folder
        stored = folder.read_json("run.json", {})
        self._values: dict[str, Any] = {
            "stampede_version": version("stampede"),
            "format": FORMAT,
            "run_id": folder.run_id,
            "experiment": experiment,
            **place,
            "started_at": now(),
            "finished_at": None,
            "plan": {},
            "cells": [],
            "begun": [],
            "finished": {},
            "account": {},
            "versions": {},
            "machine": machine(),
            **{name: stored[name] for name in _KEPT if name in stored},
            **parts,
        }

    @property
    def begun(self) -> set[str]:
        """Names of the cells of which messages may have been sent."""
        return set(self._values["begun"])

    @property
    def finished(self) -> set[str]:
        """Names of the cells that are finished."""
        return set(self._values["finished"])

    @property
    def cells(self) -> dict[str, Any]:
        """The cells that are described, by name."""
        return {row["cell"]: row for row in self._values["cells"]}

    @property
    def has_end(self) -> bool:
        """Whether the run has been noted as ended."""
        return self._values["finished_at"] is not None

    def write(self) -> None:
        """Write run.json as it stands."""
        self._folder.write_json("run.json", self._values)

    def predicted(self, predictions: Mapping[str, Prediction], parameters: Parameters) -> None:
        """Note what the model says of each cell, and what it knew, before there is anything to set it against.

        It is on disk with the next `write`. A run that goes on keeps what was said when it began.
        """
        self._values.setdefault(
            "prediction",
            {
                "place": "aws",
                "seed": self._values["plan"]["seed"],
                "date": now(),
                "parameters": [asdict(parameters.row(name)) for name in parameters],
                "cells": {name: prediction.as_dict() for name, prediction in predictions.items()},
            },
        )

    def describe(self, target: Target, terraform: Terraform) -> None:
        """Note account and versions; asked once the first cell is applied."""
        versions = terraform.version()
        self._values["versions"] = {
            "terraform": versions["terraform_version"],
            "providers": versions.get("provider_selections", {}),
            "python": platform.python_version(),
            "boto3": version("boto3"),
        } | ({"ministack": version("ministack")} if target.kind == "local" else {})
        self._values["account"] = _account(target) | describe_account(target)
        self.write()

    def add_cell(self, cell: Cell, target: Target) -> None:
        """Note a cell that is flooded by hand. Raises UsageError where it was flooded under other settings: its records
        would be mixed."""
        cells = self.cells
        before = cells.setdefault(cell.name, cell.as_json())
        values = before.get("values", {})
        if changed := [name for name, value in cell.values.items() if values.get(name) != value]:
            earlier = ", ".join(f"{name}={values.get(name)}" for name in changed)
            raise UsageError(
                f"--cell: {cell.name} of run {self._folder.run_id} was flooded with {earlier}; use another name"
            )
        self._values["cells"] = [*cells.values()]
        self._values["account"] = self._values["account"] or _account(target)
        self.write()

    def begin_cell(self, cell: Cell) -> None:
        """Note that messages of a cell may have been sent from now on, before the first of them is."""
        if cell.name not in self.begun:
            self._values["begun"].append(cell.name)
            self.write()

    def finish_cells(self, cells: Sequence[Cell], started_at: str) -> None:
        """Note finished cells, at once: those that ran interleaved are finished together."""
        times = {"started_at": started_at, "finished_at": now()}
        self._values["finished"] |= {cell.name: times for cell in cells}
        self.write()

    def finish(self) -> None:
        """Note the end of the run."""
        self._values["finished_at"] = now()
        self.write()


def _account(target: Target) -> dict[str, Any]:
    return {"account_id": target["account_id"], "region": target.region}


def machine() -> dict[str, Any]:
    """The machine that drives the run (locally also the one that is measured)."""
    return {
        "system": platform.platform(),
        "processors": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
    }


def now() -> str:
    """The time, as run.json has it."""
    return datetime.now(UTC).isoformat(timespec="seconds")
