"""What it costs an invocation to be measured: by the wrapper of a Python handler, or by the proxy of the runtime API.

The same invocation of a handler that does nothing, without and with it, in turn. For Python both are calls in one
process, which writes its records into a pipe as on Lambda. For the proxy the runtime API is a server on loopback, and
the program has the official runtime for Go.
"""

from __future__ import annotations

import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bench import tools
from bench.errors import BenchError
from bench.measure import Entry, Samples
from stampede.checkout import ROOT
from stampede.progress import say

INVOCATIONS = 3_000  # of each side in each run
WRAPPER_GOAL_US, PROXY_GOAL_US = 200.0, 1_000.0
HANDLER_MS = 10  # the cost is compared with a handler of this duration
RUN_TIMEOUT_S = 120

# Ten parts, each with calls of the handler alone, then of the wrapper. What one took goes to stderr: stdout has the
# records.
CALLS = """
import json, sys, time, types
sys.path[:0] = sys.argv[1:3]
import app, stampede_wrapper
message = {"messageId": "m", "body": "{}", "eventSource": "aws:sqs", "attributes": {"ApproximateReceiveCount": "1"},
           "messageAttributes": {"stampede": {"stringValue": '{"run_id": "r", "cell": "c", "seq": 1}'}}}
event = {"Records": [message]}
context = types.SimpleNamespace(aws_request_id="r", get_remaining_time_in_millis=lambda: 30_000)
def took_us(handler, calls):
    started = time.perf_counter()
    for _ in range(calls):
        handler(event, context)
    return (time.perf_counter() - started) / calls * 1e6
sides = {"bare": app.handler, "measured": stampede_wrapper.handler}
parts = [{side: took_us(handler, int(sys.argv[3]) // 10) for side, handler in sides.items()} for _ in range(11)][1:]
print(json.dumps({side: sum(part[side] for part in parts) / 10 for side in sides}), file=sys.stderr)
"""
HANDLER = "def handler(event, context):\n    return {'batchItemFailures': []}\n"
ENVIRONMENT = {
    "CONCURRENCY_LIMIT": "1",
    "MEMORY_SIZE": "1024",
    "EXPERIMENT_TAG": "bench",
    "STAMPEDE_HANDLER": "app.handler",
    "STAMPEDE_PACKAGE": "bench",
    "STAMPEDE_RUNTIME": "python3.12",
    "STAMPEDE_ARCHITECTURE": "x86_64",
}
# What an invocation took in microseconds: `bare`, `measured`, and what the record says of it (`recorded`).
Run = Callable[[Path], dict[str, float]]


def cost(name: str, goal_us: float, prepare: Callable[[Path], None], run: Run, runs: int) -> tuple[Entry, str]:
    """The microseconds that measuring adds to an invocation, against the most that it may add."""
    say(f"{name}: {runs} runs of {INVOCATIONS:,} invocations of each side")
    with tempfile.TemporaryDirectory(prefix="stampede-bench-") as folder:
        prepare(Path(folder))
        took = [run(Path(folder)) for _ in range(runs)]
    added = [times["measured"] - times["bare"] for times in took]
    for number, (times, us) in enumerate(zip(took, added, strict=True), 1):
        say(f"  run {number}: {times['bare']:.1f} us bare, {us:.1f} us added", style="dim")
    bare, measured, recorded = (
        statistics.median(times[side] for times in took) for side in ("bare", "measured", "recorded")
    )
    entry = Samples(tuple(added), (goal_us,) * runs).entry(name, "us", higher_is_better=False)
    setting = (
        f"a handler that does nothing: {bare:,.1f} us bare, {measured:,.1f} us measured, {recorded:,.1f} us in its "
        f"record; added to a handler of {HANDLER_MS} ms: {entry.ours / HANDLER_MS / 1000:.1%}"
    )
    return entry, setting


def lay_out_layer(folder: Path) -> None:
    """The wrapper's layer and a package, as Terraform deploys them."""
    for name in ("python", "package"):
        (folder / name).mkdir()
    shutil.copy(ROOT / "functions/function/stampede_wrapper.py", folder / "python")
    for name in ("common", "function"):
        shutil.copytree(ROOT / "functions" / name, folder / "stampede" / name)
    (folder / "package" / "app.py").write_text(HANDLER)


def run_wrapper(folder: Path) -> dict[str, float]:
    """Calls of a handler in a process of its own. Raises BenchError."""
    command = [sys.executable, "-I", "-c", CALLS, str(folder / "package"), str(folder / "python"), str(INVOCATIONS)]
    done = _run(command, ENVIRONMENT)
    seconds = [json.loads(line)["elapsed_seconds"] for line in done.stdout.splitlines()]
    return json.loads(done.stderr) | {"recorded": statistics.median(seconds) * 1e6}


def build_proxy(folder: Path) -> None:
    """The benchmark of the proxy's package, which is proxy, program and runtime API. Raises BenchError without Go."""
    go = tools.require("go", "the benchmark of the proxy")
    _run([go, "-C", str(ROOT / "functions/transfer"), "test", "-c", "-o", str(folder / "bench"), "./internal/function"])


def run_proxy(folder: Path) -> dict[str, float]:
    """Invocations of a program, first alone. Raises BenchError."""
    options = ["-test.run=^$", "-test.bench=^BenchmarkInvocation$", f"-test.benchtime={INVOCATIONS}x"]
    printed = _run([str(folder / "bench"), *options]).stdout
    took = {
        side: float(ns) / 1000 for side, ns in re.findall(r"Invocation/(bare|measured)\S*\s+\d+\s+(\S+) ns/op", printed)
    }
    recorded = re.search(r"(\S+) recorded-us", printed)
    if len(took) != 2 or not recorded:
        raise BenchError(f"the benchmark of the proxy printed {printed[-300:]!r}")
    return took | {"recorded": float(recorded[1])}


def _run(command: list[str], environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=RUN_TIMEOUT_S, check=False)
    if done.returncode:
        raise BenchError(f"{command[0]} exited with status {done.returncode}: {done.stderr[-300:]}")
    return done


ENTRIES = {
    "function_wrapper": partial(cost, "function_wrapper", WRAPPER_GOAL_US, lay_out_layer, run_wrapper),
    "function_proxy": partial(cost, "function_proxy", PROXY_GOAL_US, build_proxy, run_proxy),
}
