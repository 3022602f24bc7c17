"""What --payload names: the bodies of a run's messages."""

from __future__ import annotations

from pathlib import Path

from experiments import Experiment
from loader.payloads import Payloads
from stampede.errors import UsageError
from stampede.runs.folder import RunFolder


def payloads_of(experiment: Experiment, path: Path | None) -> Payloads | None:
    """The payloads of the file; None without one. Raises UsageError."""
    if path is None:
        return None
    if not experiment.takes_payload:
        raise UsageError(f"--payload: {experiment.name} makes its messages itself; leave it out")
    return Payloads.of_file(path)


def refuse_others(folder: RunFolder, payloads: Payloads) -> None:
    """Raise UsageError where the run has sent other payloads: numbers of payloads in its records would mean both."""
    if folder.read_json("run.json", {}) and Payloads.of_run(folder).text != payloads.text:
        raise UsageError(f"--payload: run {folder.run_id} sends another payload; leave it out, or start a new run")
