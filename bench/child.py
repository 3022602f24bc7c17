"""Runs a command and measures the whole process: wall time, user and system CPU, peak memory.

A process inherits the peak memory of its parent, so a client of this one would report at least this
interpreter's with boto3. So this file is also a small program in between: `python -I -S child.py
REPORT COMMAND...`. Its 10 MiB are the least that can be measured.
"""

from __future__ import annotations

import json
import os
import sys
import time

# getrusage(2): kilobytes on Linux, bytes on macOS
RSS_UNIT_BYTES = 1 if sys.platform == "darwin" else 1024


def run_child(
    command: list[str],
    timeout_s: float = 600.0,
    status: int = 0,
    folder: str = ".",
    **environment: str,
) -> tuple[str, dict[str, float]]:
    """Run a command; returns its stdout, and wall_s, cpu_s (user and system, with its children) and
    peak_mb (MiB).

    Raises RunError with the last line of its output if it is missing, ends with another `status`,
    or takes too long.
    """
    import subprocess
    import tempfile
    from pathlib import Path

    from stampede.errors import RunError

    name = Path(command[0]).name
    with tempfile.TemporaryDirectory(prefix="stampede-bench-") as scratch:
        report = Path(scratch) / "report.json"
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, str(report), *command],
            cwd=folder,
            env=os.environ | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            printed, complaint = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            raise RunError(f"{name} didn't finish within {timeout_s:g} s") from None
        finally:
            if process.returncode is None:
                os.killpg(process.pid, 9)  # its group: the program in between and the command
                process.communicate()
        if process.returncode != status:
            last = (complaint or printed).strip().splitlines()[-1:] or ["it printed nothing"]
            raise RunError(f"{name} ended with status {process.returncode}: {last[0][:300]}")
        return printed, json.loads(report.read_text())


def _between(report: str, command: list[str]) -> int:
    started = time.monotonic()
    _, status, usage = os.wait4(os.posix_spawnp(command[0], command, os.environ), 0)
    measured = {
        "wall_s": time.monotonic() - started,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "peak_mb": usage.ru_maxrss * RSS_UNIT_BYTES / 2**20,
    }
    with open(report, "w") as file:  # noqa: PTH123 - pathlib would double this program's size
        json.dump(measured, file)
    return os.waitstatus_to_exitcode(status) & 255


if __name__ == "__main__":
    sys.exit(_between(sys.argv[1], sys.argv[2:]))
