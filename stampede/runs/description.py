"""run.json: what a run was planned to do, where and with what it ran, and which cells are
finished."""

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
# What a run that goes on keeps.
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
    """run.json as the first edition wrote it; `stampede.cell.cells_of` gathers what it tells of a
    cell."""

    stampede_version: str = ""
    format: Any = FIRST_EDITION
    run_id: str = ""
    experiment: str | None = None
    # `target`, and of an endpoint where it is asked: `Target.place`.
    target: str = ""
    endpoint_url: str | None = None
    endpoint_services: dict[str, str] = {}
    # In ISO 8601; `finished_at` is None until the run has ended.
    started_at: str | None = None
    finished_at: str | None = None
    plan: dict[str, Any] = {}
    cells: list[_NamedCell] = []
    begun: list[str] = []  # cells of which messages may have been sent
    finished: dict[str, Any] = {}  # {cell: {"started_at", "finished_at"}}
    account: dict[str, Any] = {}
    versions: dict[str, Any] = {}
    machine: dict[str, Any] = {}
    prediction: dict[str, Any] = {}
    cost: dict[str, Any] = {}


class StoredRun(FirstEditionRun, kw_only=True):
    """run.json as it is written now: of a sweep, or of floods by hand, which have no plan."""

    cells: list[StoredCell] = []
    object: dict[str, Any] = {}  # of the user's own: {"url", "bytes", "etag"}

    def as_json(self) -> dict[str, Any]:
        """Every key, but for those that not each run has."""
        stored = msgspec.to_builtins(self)
        optional = ("endpoint_url", "endpoint_services", "object", "prediction", "cost")
        return {name: value for name, value in stored.items() if value or name not in optional}


def check(stored: Mapping[str, Any]) -> None:
    """Raise ValueError, which says which part, where a run.json isn't what the format that it names
    must be."""
    if not stored:
        raise ValueError("it is empty")
    typed(stored, StoredRun if stored.get("format") == FORMAT else FirstEditionRun)


def is_flood_by_hand(description: Mapping[str, Any]) -> bool:
    """Whether a run.json is `stampede flood`'s: it has no plan; in the first edition what the stack
    fixed."""
    plan = description.get("plan")
    return not isinstance(plan, Mapping) or not plan.keys() - {"fixed"}


class RunDescription:
    """The run.json of one run, written whole after every change, so that a kill -9 leaves the last
    state."""

    def __init__(
        self, folder: RunFolder, experiment: str, place: Mapping[str, Any], **parts: Any
    ) -> None:
        """Begin a new description, or take up the one that the folder holds; `parts` are the plan
        of a sweep, its cells and its cost."""
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
        """Names of the cells of which messages may have been sent."""
        return set(self._run.begun)

    @property
    def finished(self) -> set[str]:
        """Names of the cells that are finished."""
        return set(self._run.finished)

    @property
    def cells(self) -> dict[str, StoredCell]:
        """The cells that are described, by name."""
        return {row.cell: row for row in self._run.cells}

    @property
    def has_end(self) -> bool:
        """Whether the run has been noted as ended."""
        return self._run.finished_at is not None

    def write(self) -> None:
        """Write run.json as it stands."""
        self._folder.write_json(FILE, self._run.as_json())

    def predicted(self, predictions: Mapping[str, Prediction], parameters: Parameters) -> None:
        """Note what the model says of each cell, and what it knew, before there is anything to set
        it against.

        It is on disk with the next `write`. A run that goes on keeps what was said when it began.
        """
        self._run.prediction = self._run.prediction or {
            "place": "aws",
            "seed": self._run.plan["seed"],
            "date": now(),
            "parameters": [asdict(parameters.row(name)) for name in parameters],
            "cells": {name: prediction.as_dict() for name, prediction in predictions.items()},
        }

    def describe(self, target: Target, terraform: Terraform) -> None:
        """Note account and versions; asked once the first cell is applied."""
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
        """Note the object of the user's own that every message is held to. Raises UsageError, which
        names `option`, where the run has begun with another one, or with another version of it."""
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
        """Note a cell that is flooded by hand. Raises UsageError where it was flooded under other
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
        """Note that messages of a cell may have been sent from now on, before the first of them
        is."""
        if cell.name not in self._run.begun:
            self._run.begun.append(cell.name)
            self.write()

    def finish_cells(self, cells: Sequence[Cell], started_at: str) -> None:
        """Note finished cells, at once: those that ran interleaved are finished together."""
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
    """The machine that drives the run (locally also the one that is measured)."""
    return {
        "system": platform.platform(),
        "processors": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
    }


def now() -> str:
    """The time, as run.json has it."""
    return datetime.now(UTC).isoformat(timespec="seconds")
