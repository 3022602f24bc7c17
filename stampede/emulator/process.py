"""Processes that outlive the command that started them. Id *and* start time identify them: a
process that got a recycled id is never killed."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from stampede.polling import looks

PR_SET_PDEATHSIG = 1  # prctl(2)
# Environment variables of this machine that functions and hosts get besides those of their stack.
INHERITED = (
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
)


def inherited(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of `environ` that any program needs, without a shell's secrets and settings."""
    return {name: environ[name] for name in INHERITED if name in environ}


def without_aws(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of `environ` without the settings of a real account."""
    return {name: value for name, value in environ.items() if not name.startswith("AWS_")}


@dataclass(frozen=True)
class Process:
    """The leader of a process group: its id, its start time in clock ticks (None if unknown), and
    its log."""

    pid: int
    start_ticks: int | None
    log_file: str

    @classmethod
    def of(cls, started: subprocess.Popen, log: Path, *more: Any) -> Self:
        """The process that has just been started."""
        return cls(started.pid, start_ticks(started.pid), str(log), *more)

    def is_alive(self) -> bool:
        """True while the process runs; a zombie doesn't."""
        try:
            os.kill(self.pid, 0)
        except (ProcessLookupError, PermissionError):
            return False
        is_zombie = (_stat_fields(self.pid) or [""])[0] == "Z"
        return start_ticks(self.pid) == self.start_ticks and not is_zombie

    def send_signal(self, number: int) -> None:
        """Send a signal to the group, if it is still there."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def end(self, timeout_s: float) -> None:
        """End the group of a live process: ask first, and kill it after `timeout_s`."""
        for signal_number in (signal.SIGTERM, signal.SIGKILL):
            self.send_signal(signal_number)
            for _ in looks(itertools.repeat(0.05), timeout_s):
                self._reap()
                if not self.is_alive():
                    self.send_signal(signal.SIGKILL)  # its children that remain
                    return

    def _reap(self) -> None:
        """Collect the exit status if it is a child of this process."""
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, os.WNOHANG)


def start_ticks(pid: int) -> int | None:
    """When the process started, in clock ticks; None if the system doesn't tell."""
    fields = _stat_fields(pid)
    return int(fields[19]) if fields else None


def end_with_parent() -> Callable[[], None] | None:
    """A `preexec_fn` that has the kernel end the child when this process dies (Linux)."""
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    parent = os.getpid()

    def ask_the_kernel() -> None:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:  # it died in between
            os._exit(1)

    return ask_the_kernel


def _stat_fields(pid: int) -> list[str] | None:
    """Fields of /proc/<pid>/stat after the command name; None where there is no /proc (macOS)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
