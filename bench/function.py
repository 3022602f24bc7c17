"""What it costs an invocation to be measured by the proxy of the runtime API.

The same invocation of a handler that does nothing, without and with it, in turn. The runtime API is a server on
loopback; the runtime is AWS's own, for Go and for Python.
"""

from __future__ import annotations

import os
import re
import shlex
import statistics
import subprocess
import tempfile
from functools import partial
from pathlib import Path

from bench import tools
from bench.errors import BenchError
from bench.measure import Entry, Samples
from stampede.checkout import ROOT
from stampede.emulator import python_runtime
from stampede.progress import say

INVOCATIONS = 3_000  # of each side in each run
GOAL_US = 1_000.0
HANDLER_MS = 10  # the cost is compared with a handler of this duration
RUN_TIMEOUT_S = 120
HANDLER = "def handler(event, context):\n    return {'batchItemFailures': []}\n"


def cost(name: str, runtime: str, runs: int) -> tuple[Entry, str]:
    """The microseconds that measuring adds to an invocation, against the most that it may add. Raises BenchError."""
    say(f"{name}: {runs} runs of {INVOCATIONS:,} invocations of each side")
    with tempfile.TemporaryDirectory(prefix="stampede-bench-") as folder:
        (Path(folder) / "app.py").write_text(HANDLER)
        program, command = _build(Path(folder)), _python(Path(folder)) if runtime == "python" else ""
        took = [_run(program, command) for _ in range(runs)]
    added = [times["measured"] - times["bare"] for times in took]
    for number, (times, us) in enumerate(zip(took, added, strict=True), 1):
        say(f"  run {number}: {times['bare']:.1f} us bare, {us:.1f} us added", style="dim")
    bare, measured, recorded = (
        statistics.median(times[side] for times in took) for side in ("bare", "measured", "recorded")
    )
    entry = Samples(tuple(added), (GOAL_US,) * runs).entry(name, "us", higher_is_better=False)
    setting = (
        f"a handler that does nothing: {bare:,.1f} us bare, {measured:,.1f} us measured, {recorded:,.1f} us in its "
        f"record; added to a handler of {HANDLER_MS} ms: {entry.ours / HANDLER_MS / 1000:.1%}"
    )
    return entry, setting


def _build(folder: Path) -> Path:
    """The benchmark of the proxy's package, which is proxy, program and runtime API. Raises BenchError without Go."""
    go = tools.require("go", "the benchmark of the proxy")
    program = folder / "bench"
    _output([go, "-C", str(ROOT / "functions/transfer"), "test", "-c", "-o", str(program), "./internal/function"])
    return program


def _python(folder: Path) -> str:
    """The command line of Python's runtime with the handler, as the embedded AWS starts it."""
    python_runtime.make_once(say)
    return shlex.join(map(str, python_runtime.command("app.handler", [folder])))


def _run(program: Path, runtime: str) -> dict[str, float]:
    """What an invocation took in microseconds: `bare`, `measured`, and what the record says of it (`recorded`)."""
    options = ["-test.run=^$", "-test.bench=^BenchmarkInvocation$", f"-test.benchtime={INVOCATIONS}x"]
    printed = _output([str(program), *options], BENCH_RUNTIME=runtime)
    took = {
        side: float(ns) / 1000 for side, ns in re.findall(r"Invocation/(bare|measured)\S*\s+\d+\s+(\S+) ns/op", printed)
    }
    recorded = re.search(r"(\S+) recorded-us", printed)
    if len(took) != 2 or not recorded:
        raise BenchError(f"the benchmark of the proxy printed {printed[-300:]!r}")
    return took | {"recorded": float(recorded[1])}


def _output(command: list[str], **environment: str) -> str:
    done = subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, timeout=RUN_TIMEOUT_S, check=False
    )
    if done.returncode:
        raise BenchError(f"{command[0]} exited with status {done.returncode}: {(done.stderr or done.stdout)[-300:]}")
    return done.stdout


ENTRIES = {
    "function_proxy": partial(cost, "function_proxy", "go"),
    "function_proxy_python": partial(cost, "function_proxy_python", "python"),
}
