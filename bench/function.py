"""What it costs an invocation to be measured by the proxy of the runtime API.

The same invocation of a handler that does nothing, without and with it, in turn: the benchmark of
the proxy's own Go package, whose runtime API is a server on loopback. The runtime is AWS's own, for
Go and for Python.
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
from stampede.progress import say

INVOCATIONS = 3_000  # of each side in each run
MOST_US = 1_000.0
HANDLER = "def handler(event, context):\n    return {'batchItemFailures': []}\n"


@contextmanager
def proxy(is_python: bool) -> Iterator[tuple[Run, Run]]:
    """The microseconds that measuring adds to an invocation, against the most that it may add."""
    with tempfile.TemporaryDirectory(prefix="stampede-bench-") as folder:
        program, handler = Path(folder) / "bench", Path(folder) / "app.py"
        handler.write_text(HANDLER)
        build = ["go", "test", "-c", "-o", str(program), "./internal/function"]
        run_child(build, folder=str(FUNCTIONS / "transfer"))
        command = ""
        if is_python:  # as the embedded AWS starts it
            python_runtime.make_once(say)
            start = [
                python_runtime.interpreter(),
                "-P",
                "-B",
                python_runtime.START,
                "app.handler",
                folder,
            ]
            command = shlex.join(map(str, start))
        yield lambda: added(program, command), lambda: {"added_us": MOST_US}


def added(program: Path, runtime: str) -> Figures:
    """The microseconds that the proxy adds to an invocation."""
    options = [
        "-test.run=^$",
        "-test.bench=^BenchmarkInvocation$",
        f"-test.benchtime={INVOCATIONS}x",
    ]
    printed = run_child([str(program), *options], BENCH_RUNTIME=runtime)[0]
    took = dict(re.findall(r"Invocation/(bare|measured)\S*\s+\d+\s+(\S+) ns/op", printed))
    if len(took) != 2:
        raise RunError(f"the benchmark of the proxy printed {printed[-300:]!r}")
    return {"added_us": (float(took["measured"]) - float(took["bare"])) / 1000}
