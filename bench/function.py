"""What the proxy of the runtime API adds to an invocation.

The benchmark of the proxy's Go package invokes a handler that does nothing, with and without the
proxy in turn, and serves the runtime API on loopback. The runtime is AWS's own, for Go and Python.
"""

from __future__ import annotations

import re
import shlex
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.child import run_child
from bench.ratios import Figures, Run
from stampede.checkout import FUNCTIONS
from stampede.emulator import python_runtime
from stampede.errors import RunError

INVOCATIONS = 3_000  # of each side in each run
MOST_US = 1_000.0
HANDLER = "def handler(event, context):\n    return {'batchItemFailures': []}\n"


@contextmanager
def proxy(is_python: bool) -> Iterator[tuple[Run, Run]]:
    """The microseconds that the proxy adds to an invocation, against the most that it may add."""
    with tempfile.TemporaryDirectory(prefix="stampede-bench-") as folder:
        program, handler = Path(folder) / "bench", Path(folder) / "app.py"
        handler.write_text(HANDLER)
        build = ["go", "test", "-c", "-o", str(program), "./internal/function"]
        run_child(build, folder=str(FUNCTIONS / "transfer"))
        command = ""
        if is_python:  # like the embedded AWS
            python_runtime.make_once()
            python, start = python_runtime.interpreter(), python_runtime.START
            command = shlex.join([str(python), "-P", "-B", str(start), "app.handler", folder])
        yield lambda: added(program, command), lambda: {"added_us": MOST_US}


def added(program: Path, runtime: str) -> Figures:
    """The microseconds that the proxy adds to an invocation."""
    chosen = ["-test.run=^$", "-test.bench=^BenchmarkInvocation$"]
    command = [str(program), *chosen, f"-test.benchtime={INVOCATIONS}x"]
    printed = run_child(command, BENCH_RUNTIME=runtime)[0]
    took = dict(re.findall(r"Invocation/(bare|measured)\S*\s+\d+\s+(\S+) ns/op", printed))
    if len(took) != 2:
        raise RunError(f"the benchmark of the proxy printed {printed[-300:]!r}")
    return {"added_us": (float(took["measured"]) - float(took["bare"])) / 1000}
