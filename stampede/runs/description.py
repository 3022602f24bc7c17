"""run.json: the plan of a run, where and with what versions it ran, and its finished cells."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

import msgspec

from stampede.cell import FIRST_EDITION, FORMAT, Cell, StoredCell
from stampede.errors import UsageError
from stampede.runs.stored_json import typed

if TYPE_CHECKING:
    from stampede.experiment import DataObject
    from stampede.model.parameters import Parameters
    from stampede.model.prediction import Prediction
    from stampede.runs.folder import RunFolder
    from stampede.stacks.target import Target
    from stampede.stacks.terraform import Terraform

FILE = "run.json"
# The keys that a resumed run keeps.
_KEPT = (
    "started_at",
    "finished_at",
    "cells",
    "begun",
    "finished",
    "account",
    "versions",
    "object",
    "prediction",
)


class _NamedCell(TypedDict):
    cell: str
    values: NotRequired[dict[str, Any]]


class FirstEditionRun(msgspec.Struct, kw_only=True):
    """run.json as the first edition wrote it; `stampede.cell.cells_of` reads its cells."""

    stampede_version: str = ""
    format: Any = FIRST_EDITION
    run_id: str = ""
    experiment: str | None = None
    # As in `Target.place`.
    target: str = ""
    endpoint_url: str | None = None
    endpoint_services: dict[str, str] = {}
    # In ISO 8601; `finished_at` is None until the run has ended.
    started_at: str | None = None
    finished_at: str | None = None
    plan: dict[str, Any] = {}
    cells: list[_NamedCell] = []
    begun: list[str] = []  # cells whose messages may have been sent
    finished: dict[str, Any] = {}  # {cell: {"started_at", "finished_at"}}
    account: dict[str, Any] = {}
    versions: dict[str, Any] = {}
    machine: dict[str, Any] = {}
    prediction: dict[str, Any] = {}
    cost: dict[str, Any] = {}


class StoredRun(FirstEditionRun, kw_only=True):
    """run.json as it is written now: of a sweep, or of floods by hand, which have no plan."""

    cells: list[StoredCell] = []
    object: dict[str, Any] = {}  # the user's own: {"url", "bytes", "etag"}

    def as_json(self) -> dict[str, Any]:
        """All keys, except optional ones without a value."""
        stored = msgspec.to_builtins(self)
        optional = ("endpoint_url", "endpoint_services", "object", "prediction", "cost")
        return {name: value for name, value in stored.items() if value or name not in optional}


def check(stored: Mapping[str, Any]) -> None:
    """Raise ValueError, naming the part, if a run.json doesn't fit its format."""
    if not stored:
        raise ValueError("it is empty")
    typed(stored, StoredRun if stored.get("format") == FORMAT else FirstEditionRun)


def is_flood_by_hand(description: Mapping[str, Any]) -> bool:
    """Whether a run.json is from `stampede flood`: it has no plan, or in the first edition one with
    the stack's fixed values only."""
    plan = description.get("plan")
    return not isinstance(plan, Mapping) or not plan.keys() - {"fixed"}


class RunDescription:
    """The run.json of one run, rewritten after every change, so that a kill -9 leaves the last
    state."""

    def __init__(
        self, folder: RunFolder, experiment: str, place: Mapping[str, Any], **parts: Any
    ) -> None:
        """Begin a new description, or continue the one in the folder; `parts` are a sweep's plan,
        cells and cost."""
        stored = folder.read_json(FILE, {})
        kept = {name: stored[name] for name in _KEPT if name in stored}
        own = {
            "stampede_version": version("stampede"),
            "format": FORMAT,
            "run_id": folder.run_id,
            "experiment": experiment,
            "machine": machine(),
        }
        self._folder = folder
        self._run = msgspec.convert(
            {"started_at": now(), **kept, **own, **place, **parts}, StoredRun
        )

    @property
    def begun(self) -> set[str]:
        """Names of the cells whose messages may have been sent."""
        return set(self._run.begun)

    @property
    def finished(self) -> set[str]:
        """Names of the finished cells."""
        return set(self._run.finished)

    @property
    def cells(self) -> dict[str, StoredCell]:
        """The cells by name."""
        return {row.cell: row for row in self._run.cells}

    @property
    def has_end(self) -> bool:
        """Whether the end of the run is noted."""
        return self._run.finished_at is not None

    def write(self) -> None:
        """Write run.json."""
        self._folder.write_json(FILE, self._run.as_json())

    def predicted(self, predictions: Mapping[str, Prediction], parameters: Parameters) -> None:
        """Note the model's predictions and their parameters, before there are any results. The next
        `write` stores them. A resumed run keeps its first predictions."""
        self._run.prediction = self._run.prediction or {
            "place": "aws",
            "seed": self._run.plan["seed"],
            "date": now(),
            "parameters": [asdict(parameters.row(name)) for name in parameters],
            "cells": {name: prediction.as_dict() for name, prediction in predictions.items()},
        }

    def describe(self, target: Target, terraform: Terraform) -> None:
        """Note the account and versions, once the first cell is applied."""
        versions = terraform.version()
        self._run.versions = {
            "terraform": versions["terraform_version"],
            "providers": versions.get("provider_selections", {}),
            "python": platform.python_version(),
            "boto3": version("boto3"),
        } | ({"ministack": version("ministack")} if target.kind == "local" else {})
        self._run.account = _account(target) | target.account_limits()
        self.write()

    def hold(self, option: str, found: DataObject) -> None:
        """Note the user's own object, which every message must read. Raises UsageError, naming
        `option`, if the run began with another object, or another version of it."""
        noted = {"url": found.url, "bytes": found.size_bytes, "etag": found.etag}
        if self._run.object not in ({}, noted):
            url, size, etag = (self._run.object.get(name) for name in noted)
            began = f"{self._run.run_id} began with {url}, {size} bytes, ETag {etag}"
            now_is = f"now it is {found.url}, {found.size_bytes} bytes, ETag {found.etag}"
            raise UsageError(
                f"{option}: {began}, and {now_is}", "put that one back, or start a new run"
            )
        self._run.object = noted

    def add_cell(self, cell: Cell, target: Target) -> None:
        """Note a cell that is flooded by hand. Raises UsageError if it was flooded under other
        settings: its records would be mixed."""
        if (before := self.cells.get(cell.name)) is None:
            self._run.cells.append(msgspec.convert(cell.as_json(), StoredCell))
        elif changed := [
            name for name, value in cell.values.items() if before.values.get(name) != value
        ]:
            earlier = ", ".join(f"{name}={before.values.get(name)}" for name in changed)
            raise UsageError(
                f"--cell: {cell.name} of run {self._run.run_id} was flooded with {earlier}; use "
                "another name"
            )
        self._run.account = self._run.account or _account(target)
        self.write()

    def begin_cell(self, cell: Cell) -> None:
        """Note that messages of a cell may have been sent; call it before the first is."""
        if cell.name not in self._run.begun:
            self._run.begun.append(cell.name)
            self.write()

    def finish_cells(self, cells: Sequence[Cell], started_at: str) -> None:
        """Note finished cells, all at once: interleaved cells finish together."""
        times = {"started_at": started_at, "finished_at": now()}
        self._run.finished |= {cell.name: times for cell in cells}
        self.write()

    def finish(self) -> None:
        """Note the end of the run."""
        self._run.finished_at = now()
        self.write()


def _account(target: Target) -> dict[str, Any]:
    return {"account_id": target["account_id"], "region": target.region}


def machine() -> dict[str, Any]:
    """The machine that drives the run, and locally also runs the functions."""
    return {
        "system": platform.platform(),
        "processors": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
    }


def now() -> str:
    """The time in ISO 8601, as in run.json."""
    return datetime.now(UTC).isoformat(timespec="seconds")
