"""What a function takes of this machine's memory is measured, kept, and counted with."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from experiments.download import usage as download_usage
from stampede.cell import Cell
from stampede.emulator import function_memory, ministack
from stampede.planning.checks import machine
from stampede.planning.demand import Demand

BALLAST_MB = 40
GO = download_usage.usage({"object_size_mb": 1, "method": "go_stream", "ephemeral_storage_mb": 512})

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="only Linux tells what a process takes"
)


FUNCTION = f"ballast = b'x' * ({BALLAST_MB} * 2**20); print(flush=True); input()"
EMULATOR = f"""
import subprocess, sys
pipes = {{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}}
functions = [subprocess.Popen([sys.executable, "-c", {FUNCTION!r}], **pipes) for _ in range(2)]
for function in functions:
    function.stdout.readline()
print(flush=True)
sys.stdin.read()
for function in functions:
    function.communicate(b"end")
"""


@pytest.fixture
def emulator(monkeypatch):
    """Stands in for an emulator that runs two functions."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(
        [sys.executable, "-c", EMULATOR], start_new_session=True, **pipes
    ) as process:
        process.stdout.readline()
        monkeypatch.setattr(
            ministack, "running", lambda state_dir: SimpleNamespace(pid=process.pid)
        )
        yield
        process.stdin.close()


def test_a_function_is_counted_as_it_was_measured_here_and_an_object_in_it_is_not(
    emulator, tmp_path
):
    function_memory.note(tmp_path, GO.process_mb, moved_mb=1000)
    assert function_memory.known(tmp_path) == {}
    function_memory.note(tmp_path, GO.process_mb, GO.moved_mb)
    [(kind, mean_mb)] = function_memory.known(tmp_path).items()
    assert kind == str(GO.process_mb)
    assert BALLAST_MB - 1 <= mean_mb < 2 * BALLAST_MB

    cell = Demand(Cell("c", {"concurrency_value": 100}, (), messages=1000), GO)
    needed_mb = machine.EMULATOR_MB + GO.data_mb + 100 * (mean_mb + GO.moved_mb)
    measured = function_memory.known(tmp_path)
    assert machine.local_memory([cell], needed_mb, measured).status == "ok"
    assert machine.local_memory([cell], needed_mb - 1, measured).status == "warning"
    assert machine.local_memory([cell], needed_mb - 1, {}).status == "ok"
