"""run.json: what a sweep was planned to do, where and with what it ran, and which cells are finished."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from stampede.model.parameters import Parameters
from stampede.model.prediction import Prediction
from stampede.planning.cost import Estimate
from stampede.planning.plan import Cell, Plan
from stampede.runs.folder import FORMAT, RunFolder
from stampede.stacks import target as targets
from stampede.stacks.account import describe_account
from stampede.stacks.target import Target
from stampede.stacks.terraform import Terraform


class RunDescription:
    """The run.json of one sweep; written whole after every change, so that a kill -9 leaves the last state."""

    def __init__(self, folder: RunFolder, plan: Plan, estimate: Estimate) -> None:
        """Begin a new description, or take up the one that the folder holds."""
        self._folder = folder
        stored = folder.read_json("run.json", {})
        self._values: dict[str, Any] = {
            "stampede_version": version("stampede"),
            "format": FORMAT,
            "run_id": folder.run_id,
            "experiment": plan.experiment,
            **targets.place(plan.target),
            "started_at": stored.get("started_at") or _text(datetime.now(UTC)),
            "finished_at": stored.get("finished_at"),
            "plan": plan.as_dict(),
            "cells": stored.get("cells", []),
            "settings": stored.get("settings", {}),
            "account": stored.get("account", {}),
            "versions": stored.get("versions", {}),
            "machine": machine(),
            "cost": estimate.as_dict(),
        }
        if "prediction" in stored:
            self._values["prediction"] = stored["prediction"]

    @property
    def finished(self) -> set[str]:
        """Names of the cells that are finished."""
        return {cell["cell"] for cell in self._values["cells"]}

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
                "date": _text(datetime.now(UTC)),
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
        self._values["account"] = {"account_id": target["account_id"], "region": target.region} | describe_account(
            target
        )
        self.write()

    def begin_cell(self, name: str, target: Target, in_order: Mapping[str, Any]) -> None:
        """Note what stack and work orders are while the cell is flooded: its records are set against that."""
        self._values["settings"][name] = settings_of(target, in_order)
        self.write()

    def finished_cells(self, cells: Sequence[Cell], started_at: datetime) -> None:
        """Note finished cells, at once: those that ran interleaved are finished together."""
        self._values["cells"] += [
            {
                "cell": cell.name,
                **cell.coordinates,
                "repeat": cell.repeat,
                "started_at": _text(started_at),
                "finished_at": _text(datetime.now(UTC)),
            }
            for cell in cells
        ]
        self.write()

    def finish(self) -> None:
        """Note the end of the run."""
        self._values["finished_at"] = _text(datetime.now(UTC))
        self.write()


def settings_of(target: Target, in_order: Mapping[str, Any]) -> dict[str, Any]:
    """What every record repeats: of the applied stack (an older one doesn't tell it all), and of the work order."""
    settings = {**target.outputs, **in_order}
    return {name: settings[name] for name in target.experiment.record_fields if name in settings}


def machine() -> dict[str, Any]:
    """The machine that drives the run (locally also the one that is measured)."""
    return {
        "system": platform.platform(),
        "processors": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
    }


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")
