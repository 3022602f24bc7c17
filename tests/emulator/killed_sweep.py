"""A sweep with its own emulator, killed at random moments and resumed until it ends."""

import contextlib
import os
import random
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from stampede.runs.folder import RunFolder
from tests.emulator.embedded_aws import begin

# The lines with which a sweep announces each phase.
BEGINS = {
    "apply": re.compile(r": terraform apply \("),
    "messages": re.compile(r"^flooding |^round \d+ of "),
    "teardown": re.compile(r"^destroying the stack|^stopping the embedded AWS"),
    "report": re.compile(r"^counting what became of every message"),
}
STARTED = re.compile(r"^the embedded AWS answers at \S+ \(process (\d+)\)")


@dataclass(frozen=True)
class Moment:
    """When to kill: up to `most_s` s after the sweep announces the phase for the `nth` time."""

    begins: str
    most_s: float
    nth: int = 1
    interrupts: bool = False  # press Ctrl-C first, and kill the teardown that follows
    keeps: bool = False  # use --keep: the emulator and its functions survive the kill, as AWS does


@dataclass
class KilledSweep:
    """One run, from its start over each kill to its end.

    `killed_in` lists the phases that the kills really hit, `kept` the processes of emulators
    started with --keep.
    """

    work: Path
    arguments: tuple[str, ...]
    draw: random.Random
    killed_in: list[str] = field(default_factory=list)
    kept: set[int] = field(default_factory=set)
    has_ended: bool = False

    @property
    def log(self) -> Path:
        """The output and exit status of each attempt."""
        return self.work / "said"

    @property
    def folder(self) -> RunFolder:
        """The run's folder, which doesn't exist before its start."""
        return RunFolder(next((self.work / "results").glob("*"), self.work / "results" / "none"))

    def is_killed_at(self, moment: Moment) -> bool:
        """Start or resume it and kill its process group; return False if it ended earlier."""
        with self._started(*["--keep"] * moment.keeps) as process:
            said: list[str] = []
            if _says(process, BEGINS[moment.begins], moment.nth, said):
                if moment.interrupts:
                    process.send_signal(signal.SIGINT)
                    _says(process, BEGINS["teardown"], 1, said)
                time.sleep(self.draw.uniform(0, moment.most_s))
                os.killpg(process.pid, signal.SIGKILL)  # not reaped yet: still its own id
            said += process.stderr.readlines()
            status = process.wait()
        self._log(f"{moment}: status {status}", said)
        if moment.keeps:
            self.kept |= {int(started[1]) for started in map(STARTED.search, said) if started}
        if status == -signal.SIGKILL:
            self.killed_in.append(_phase(said))
        else:
            assert status in ((0, 130) if moment.interrupts else (0,)), self.log.read_text()[-5000:]
            self.has_ended = status == 0
        return status == -signal.SIGKILL

    def end(self) -> None:
        """Resume it until it ends."""
        with self._started() as process:
            said = process.stderr.readlines()
            status = process.wait()
        self._log(f"to its end: status {status}", said)
        assert status == 0, self.log.read_text()[-5000:]
        self.has_ended = True

    def left_running(self) -> dict[int, str]:
        """Command lines of this run's processes that still exist, by id."""
        commands = {}
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if str(self.work).encode() in (process / "environ").read_bytes():
                    command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                    if command:  # a zombie has none
                        commands[int(process.name)] = command
        return commands

    def _log(self, how: str, said: list[str]) -> None:
        with self.log.open("a") as log:
            log.writelines([f"--- {how}\n", *said])

    @contextlib.contextmanager
    def _started(self, *options: str) -> Iterator[subprocess.Popen]:
        begun = (self.folder.path / "run.json").exists()
        what = ["--resume", self.folder.name] if begun else self.arguments
        streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        command = ["sweep", "--verbose", *what, *options]
        with begin(self.work, *command, **streams, start_new_session=True) as process:
            try:
                yield process
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)


def _says(process: subprocess.Popen, line: re.Pattern, nth: int, said: list[str]) -> bool:
    """Wait for the nth such line; return False if the process ends first. `said` gets its lines."""
    for text in process.stderr:
        said.append(text)
        nth -= bool(line.search(text))
        if nth == 0:
            return True
    return False


def _phase(said: list[str]) -> str:
    """The last phase that was announced."""
    begun = [phase for line in said for phase, begins in BEGINS.items() if begins.search(line)]
    return begun[-1]
