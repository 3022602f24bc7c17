"""Processes that outlive the command that started them. Id *and* start time identify them: a
process that got a recycled id is never killed."""

from __future__ import annotations

import ctypes
import itertools
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

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


@dataclass(frozen=True)
class Process:
    """The leader of a process group: its id and its start time in clock ticks (None if unknown)."""

    pid: int
    start_ticks: int | None

    def is_alive(self) -> bool:
        """True while the process runs; a zombie doesn't."""
        try:
            os.kill(self.pid, 0)
        except (ProcessLookupError, PermissionError):
            return False
        return start_ticks(self.pid) == self.start_ticks and not _is_zombie(self.pid)

    def ask_to_end(self) -> None:
        """Ask the group to end (SIGTERM)."""
        self._signal_group(signal.SIGTERM)

    def end(self, timeout_s: float) -> None:
        """End the group of a live process: ask first, and kill it after `timeout_s`."""
        for signal_number in (signal.SIGTERM, signal.SIGKILL):
            self._signal_group(signal_number)
            for _ in looks(itertools.repeat(0.05), time.monotonic() + timeout_s):
                self._reap()
                if not self.is_alive():
                    self._signal_group(signal.SIGKILL)  # its children that remain
                    return

    def _signal_group(self, signal_number: int) -> None:
        try:
            os.killpg(self.pid, signal_number)
        except (ProcessLookupError, PermissionError):
            return

    def _reap(self) -> None:
        """Collect the exit status if it is a child of this process."""
        try:
            os.waitpid(self.pid, os.WNOHANG)
        except ChildProcessError:
            return


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


def _is_zombie(pid: int) -> bool:
    fields = _stat_fields(pid)
    return bool(fields) and fields[0] == "Z"
