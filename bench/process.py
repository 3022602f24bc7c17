"""Runs a program to its end, or a server while it is needed, and says why one failed."""

from __future__ import annotations

import os
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.errors import BenchError
from stampede.emulator.process import end_with_parent

START_TIMEOUT_S = 60
STOP_TIMEOUT_S = 10
ANSWER_TIMEOUT_S = 5

# Loopback is never reached through a proxy, whatever the environment says.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def output_of(
    command: Sequence[str],
    doing: str,
    timeout_s: float,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    when_late: str = "",
) -> str:
    """Run `command` to its end; returns what it printed on stdout.

    Raises BenchError, which names what it was `doing`, when it can't be started, fails, or takes longer than
    `timeout_s`; `when_late` is a hint for that.
    """
    try:
        done = subprocess.run(
            command,
            env=os.environ | (environment or {}),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
        )
    except subprocess.TimeoutExpired:
        raise BenchError(f"{doing} took more than {timeout_s:g} s{when_late}") from None
    except OSError as error:
        raise BenchError(f"{doing}: {command[0]} doesn't run: {error.strerror}") from None
    if done.returncode != 0:
        lines = [line.strip() for line in f"{done.stdout}\n{done.stderr}".splitlines() if line.strip()]
        reason = next((line for line in lines if "ERROR" in line), lines[-1] if lines else "it printed nothing")
        raise BenchError(f"{doing} failed with status {done.returncode}: {reason[:300]}")
    return done.stdout


@contextmanager
def running(
    command: Sequence[str],
    name: str,
    folder: Path,
    answers_at: str,
    environment: Mapping[str, str] | None = None,
    start_timeout_s: float = START_TIMEOUT_S,
) -> Iterator[int]:
    """Run `command` with its log in `folder` while the block runs; gives its process id.

    Waits until `answers_at` (an http or https URL) gives any answer. Raises BenchError when it ends early or doesn't
    answer in time. The process is stopped on every way out, and by the kernel (Linux) if this process is killed.
    """
    log_path = folder / f"{name}.log"
    process = None
    try:
        with log_path.open("wb") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env=os.environ | (environment or {}),
                start_new_session=True,  # Ctrl-C in the terminal reaches us only: we stop it in order
                preexec_fn=end_with_parent(),
            )
        _wait_until_it_answers(process, name, answers_at, log_path, start_timeout_s)
        yield process.pid
    except OSError as error:
        if process is None:
            raise BenchError(f"{name} can't be started: {command[0]}: {error.strerror}") from None
        raise
    finally:
        if process is not None:
            stop(process)


def stop(process: subprocess.Popen, timeout_s: float = STOP_TIMEOUT_S) -> None:
    """End a process that we started: asked first, killed after `timeout_s`."""
    process.terminate()
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def get(request: str | urllib.request.Request) -> tuple[int, bytes]:
    """Ask a loopback server; returns status and body, of a refusal too. Raises OSError when it doesn't answer."""
    try:
        with _opener.open(request, timeout=ANSWER_TIMEOUT_S) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def _wait_until_it_answers(
    process: subprocess.Popen, name: str, url: str, log_path: Path, start_timeout_s: float
) -> None:
    deadline = time.monotonic() + start_timeout_s
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise BenchError(f"{name} exited immediately with status {process.returncode}: {_last_line(log_path)}")
        try:
            get(url)
            return
        except OSError as error:
            if isinstance(getattr(error, "reason", None), ssl.SSLCertVerificationError):
                return  # it answers with a certificate of ours, which only its clients are told to trust
            time.sleep(0.1)
    raise BenchError(f"{name} didn't answer at {url} within {start_timeout_s:g} s: {_last_line(log_path)}")


def _last_line(log_path: Path) -> str:
    """The log goes with its folder, so what it said last belongs in the error."""
    lines = [line.strip() for line in log_path.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1][:300] if lines else "its log is empty"
