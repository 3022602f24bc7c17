"""A run of a benchmark that did other work than the one it is for is no measurement, and nothing
outlives it."""

import socket
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from bench import aa, clients, copies, downloads, express, flood, function, insights, simulate
from bench.child import run_child
from bench.servers import Place, free_port, running
from experiments.download.declaration import DOWNLOAD
from stampede.errors import RunError
from tests.contract import synthetic
from tests.fakes import s3 as fake_s3

NOWHERE = "http://127.0.0.1:9"


def python(script):
    return [sys.executable, "-c", script]


def left_by_a_peer(tmp_path, content):
    (tmp_path / "object").write_bytes(content)
    downloads.remove_checked(tmp_path / "object")


def left_of_small(tmp_path):
    (tmp_path / "a").write_bytes(b"1")
    downloads.remove_compared(tmp_path, {"a": b"1", "b": b"2"})


def copied_by_nobody(tmp_path):
    place = SimpleNamespace(folder=tmp_path, stored=lambda prefix: 0)
    copies.call_costs(place, lambda at, rows: {"cpu_s": 1.0, "wall_s": 1.0, "peak_mb": 1.0})


def arrived(count):
    queue = SimpleNamespace(
        get_queue_attributes=lambda QueueUrl, AttributeNames: {
            "Attributes": {AttributeNames[0]: str(count)}
        },
        purge_queue=lambda QueueUrl: None,
    )
    return flood.rate(queue, "q", lambda url, count: time.sleep(0.001), 60)


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (
            lambda tmp_path: clients._invoked(Place(NOWHERE, tmp_path), python("print()"), 0),
            "should have logged a success",
        ),
        (lambda tmp_path: left_by_a_peer(tmp_path, downloads.PIECE), "aren't the object's"),
        (left_of_small, "1 of 2 objects"),
        (
            lambda _: express.counted(SimpleNamespace(requests=lambda: {"put": 0}), "put", 3, dict),
            "0 PUT requests for 3",
        ),
        (copied_by_nobody, "^0 of 3000 objects exist"),
        (lambda _: arrived(50), "^50 of 60 messages"),
        (lambda _: insights.check_same([[1.0, 2.0]], [[1.0, 2.1]]), "disagree"),
        (lambda _: simulate.timed(lambda: 103.0, 100.0), "drain in 103.0 and 100.0 s"),
        (lambda _: function.added("/bin/echo", ""), "the benchmark of the proxy printed"),
        (
            lambda _: run_child(python("import time; time.sleep(60)"), 0.3),
            "didn't finish within 0.3 s",
        ),
    ],
)
def test_a_run_that_did_not_do_its_work_is_no_measurement(tmp_path, monkeypatch, run, message):
    monkeypatch.setattr(downloads, "PIECES", 2)
    with pytest.raises(RunError, match=message):
        run(tmp_path)
    assert not (tmp_path / "object").exists()


def test_figures_are_computed_of_what_was_done(tmp_path, monkeypatch):
    monkeypatch.setattr(downloads, "PIECES", 2)
    left_by_a_peer(tmp_path, downloads.PIECE * 2)
    store = SimpleNamespace(requests=iter([{"put": 1}, {"put": 4}]).__next__)
    assert express.counted(store, "put", 3, lambda: {"seconds": 1.5}) == {"objects_per_s": 2}
    program = tmp_path / "bench"
    lines = "Invocation/bare-2 3 160000 ns/op", "Invocation/measured-2 3 410000 ns/op"
    program.write_text("#!/bin/sh\n" + "".join(f"echo '{line}'\n" for line in lines))
    program.chmod(0o755)
    assert function.added(program, "") == {"added_us": 250.0}


def test_the_proxy_of_a_python_function_is_measured_before_the_embedded_aws_runtime(monkeypatch):
    environments = []

    def run(*_, **environment):
        environments.append(environment)
        return ("Invocation/bare-2 3 160000 ns/op\nInvocation/measured-2 3 410000 ns/op\n",)

    monkeypatch.setattr(function, "run_child", run)
    with function.proxy(is_python=True) as (ours, _):
        assert ours() == {"added_us": 250.0}
        python, _, _, start, *_ = environments[-1]["BENCH_RUNTIME"].split()
        assert (Path(python).exists(), Path(start).exists()) == (True, True)


@pytest.mark.parametrize("method", ["stream", "go_stream"])
def test_a_function_runs_once_in_a_process_of_its_own_and_must_get_what_is_there(tmp_path, method):
    invoke = clients.go if method.startswith("go_") else clients.python
    settings = {"METHOD": method, "BUCKET_NAME": fake_s3.BUCKET, "FILE_NAME": fake_s3.KEY}
    with fake_s3.FakeS3(2**20) as s3:
        record = invoke(Place(s3.url, tmp_path), "download", {"object_bytes": 2**20}, **settings)
        with pytest.raises(RunError, match="SizeMismatch"):
            invoke(Place(s3.url, tmp_path), "download", {"object_bytes": 5}, **settings)
    assert (record["method"], record["bytes"]) == (method, 2**20)
    assert 0 < record["download_time_seconds"] < record["wall_s"] and record["cpu_s"] > 0
    assert list(tmp_path.iterdir()) == []


def test_cpu_and_peak_memory_are_those_of_the_child_and_its_children():
    ballast = b"\x01" * (200 * 2**20)  # this process is far larger than the child
    work = "import time; x = b'1' * (30 * 2**20)\nwhile time.process_time() < 0.3: pass"
    used = run_child(
        python(f"import subprocess, sys; subprocess.run([sys.executable, '-c', {work!r}])")
    )[1]
    assert 0.3 <= used["cpu_s"] < 2
    assert 30 < run_child(python(work))[1]["peak_mb"] < 100 < len(ballast)


def test_the_model_and_simpy_agree_on_when_a_flood_has_drained():
    ours, peer = (drain_s(3_000, 1_050) for drain_s in (simulate.drain_s, simulate.simpy_drain_s))
    assert ours == pytest.approx(peer, rel=simulate.SAME_DRAIN)


@pytest.mark.parametrize("more_s", [0, 1])
def test_a_page_claims_a_difference_where_there_is_one_alone(tmp_path, more_s):
    def takes(demand):
        return 1.0 + more_s * (demand.memory_mb == 2048)

    settings = ("memory_size=1024,2048", "concurrency_value=1")
    run = synthetic.write(tmp_path / "run", DOWNLOAD, settings, takes=takes, repeats=5)
    assert aa.claims_of(run, aa.COMPARED["download"]) == more_s


def test_no_server_outlives_its_bench_and_one_that_does_not_serve_is_given_up():
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", str(port)]
    with pytest.raises(KeyboardInterrupt), running(command, url):
        urlopen(url).close()
        raise KeyboardInterrupt
    with pytest.raises(URLError):
        urlopen(url)
    script = f"""
import time
from bench.servers import running
with running({command}, "{url}"):
    print(flush=True)
    time.sleep(60)
"""
    with subprocess.Popen(python(script), stdout=subprocess.PIPE) as parent:
        parent.stdout.readline()
        parent.kill()
    deadline = time.monotonic() + 30
    # An answer could also be cut off by the server's end, so none is asked for.
    with pytest.raises(ConnectionRefusedError):
        while time.monotonic() < deadline:
            socket.create_connection(("127.0.0.1", port)).close()
    with pytest.raises(RunError, match="ended with status 4: port taken"):
        running(python("print('port taken'); raise SystemExit(4)"), NOWHERE).__enter__()
