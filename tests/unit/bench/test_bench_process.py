"""Servers are waited for, and none outlives the measurement."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from bench.errors import BenchError
from bench.process import free_port, running

HERE = Path.cwd()
WEB_SERVER = [sys.executable, "-m", "http.server", "--bind", "127.0.0.1"]


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or " Z " not in status.read_text()


def gone_within(pid, seconds):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not alive(pid):
            return True
        time.sleep(0.02)
    return False


def test_a_server_runs_while_the_block_does(tmp_path):
    port = free_port()
    with running([*WEB_SERVER, str(port)], "web", tmp_path, f"http://127.0.0.1:{port}/") as pid:
        assert alive(pid)
    assert not alive(pid)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_server_is_stopped_when_the_block_fails(tmp_path, error):
    port = free_port()
    with (
        pytest.raises(error),
        running([*WEB_SERVER, str(port)], "web", tmp_path, f"http://127.0.0.1:{port}/") as pid,
    ):
        raise error
    assert not alive(pid)


def test_a_server_that_ends_at_once_is_reported_with_its_last_words(tmp_path):
    command = [sys.executable, "-c", "print('port taken'); raise SystemExit(4)"]
    with pytest.raises(BenchError, match=r"^web ended at once with status 4: port taken$"):
        running(command, "web", tmp_path, f"http://127.0.0.1:{free_port()}/").__enter__()


def test_a_server_that_never_answers_is_given_up_and_stopped(tmp_path):
    pid_file = tmp_path / "pid"
    script = f"import os, time; open({str(pid_file)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    with pytest.raises(BenchError, match=r"didn't answer at http://127.0.0.1:.* within 1 s: its log is empty$"):
        running(
            [sys.executable, "-c", script], "web", tmp_path, f"http://127.0.0.1:{free_port()}/", start_timeout_s=1
        ).__enter__()
    assert not alive(int(pid_file.read_text()))


def test_a_program_that_is_not_there_is_named(tmp_path):
    with pytest.raises(BenchError, match=r"^web can't be started: /nowhere/server: No such file or directory$"):
        running(["/nowhere/server"], "web", tmp_path, "http://127.0.0.1:9/").__enter__()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the kernel's help is Linux's")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_no_server_outlives_a_bench_that_is_interrupted_or_killed(tmp_path, number):
    port = free_port()
    script = textwrap.dedent(f"""
        import time
        from pathlib import Path
        from bench.process import running
        command = {[*WEB_SERVER, str(port)]!r}
        with running(command, "web", Path({str(tmp_path)!r}), "http://127.0.0.1:{port}/") as pid:
            print(pid, flush=True)
            time.sleep(60)
    """)
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=HERE
    ) as bench:
        pid = int(bench.stdout.readline())
        assert alive(pid)
        bench.send_signal(number)
        bench.wait(10)
    assert gone_within(pid, 5)
