"""What a measurement is made of: children, servers, floods, fetched tools. Each did its work or is refused."""

import json
import os
import signal
import subprocess
import sys
import sysconfig
import textwrap
import time
from pathlib import Path

import pytest

from bench import download, filesystem, flood, flood_memory, matrix, raw_http, tools
from bench.child import run_child
from bench.errors import BenchError
from bench.process import running
from bench.session import stay_on_loopback
from bench.small_set import small_set
from loader.sqs.service import Endpoint
from stampede.emulator.ministack import free_port
from tests.fakes import s3 as fake_s3
from tests.fakes.sqs import DENY, OK, FakeSqs

HERE = Path.cwd()


def python(script):
    return [sys.executable, "-c", script]


def alive(pid):
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and " Z " not in status.read_text()


def web_server(folder):
    port = free_port()
    command = [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", str(port)]
    return command, "web", folder, f"http://127.0.0.1:{port}/"


def test_cpu_and_peak_memory_are_those_of_the_child_and_its_children():
    ballast = b"\x01" * (200 * 2**20)  # this process is far larger than the child
    work = "import time\nx = b'\\x01' * (30 * 2**20); del x\nwhile time.process_time() < 0.3: pass"
    used = run_child(python(f"import subprocess, sys; subprocess.run([sys.executable, '-c', {work!r}])"))
    assert 0.3 <= used["cpu_s"] < 2
    assert 30 < run_child(python(work))["peak_mb"] < 100
    assert len(ballast) == 200 * 2**20


@pytest.mark.parametrize(("method", "sink"), [("stream", "discard"), ("download_file", "tmp")])
def test_our_side_is_the_download_function_in_a_process_of_its_own(tmp_path, monkeypatch, method, sink):
    for name, value in {"BUCKET": fake_s3.BUCKET, "KEY": fake_s3.KEY, "OBJECT_BYTES": 2**20}.items():
        monkeypatch.setattr(download, name, value)
    keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1"}
    packages = {"PYTHONPATH": sysconfig.get_path("purelib")}
    with fake_s3.FakeS3(2**20) as s3:
        gateway = download.Gateway(s3.url, tmp_path, keys | packages | {"AWS_ENDPOINT_URL": s3.url})
        figures = download.ours(gateway, method, sink).run()
        assert s3.count("GetObject") == 1
    assert set(figures) == {"wall_s", "cpu_s", "peak_mb", "seconds", "client_cpu_s"}
    assert 0 < figures["seconds"] < figures["wall_s"]


@pytest.mark.parametrize("method", ["pool", "copy"])
def test_our_side_of_many_files_is_the_copying_function_and_refuses_a_data_set_of_other_sizes(tmp_path, method):
    small = small_set(5)
    bodies = {name: small.body(name) for name in small.sizes}
    (tmp_path / "mount" / "small").mkdir(parents=True)
    for name, body in bodies.items():
        (tmp_path / "mount" / "small" / name).write_bytes(body)
    storage = {"STORAGE": "s3", "READ_METHOD": "pool"}
    if method == "copy":
        storage = {"STORAGE": "efs", "MOUNT_PATH": str(tmp_path / "mount")}
    keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1"}
    with fake_s3.FakeS3(0, objects={f"small/{name}": body for name, body in bodies.items()}) as s3:
        gateway = download.Gateway(s3.url, tmp_path, keys | {"AWS_ENDPOINT_URL": s3.url})
        figures = filesystem.function(gateway, small, method, BUCKET_NAME=fake_s3.BUCKET, **storage).run()
        incomplete = filesystem.function(gateway, small_set(6), method, BUCKET_NAME=fake_s3.BUCKET, **storage)
        with pytest.raises(BenchError, match="SizeMismatch: copied 5 files, but the message expects 6"):
            incomplete.run()
    assert set(figures) == {"wall_s", "cpu_s", "peak_mb"}
    assert 0 < figures["wall_s"] < 60


@pytest.mark.parametrize(
    ("command", "timeout_s", "message"),
    [
        (["/nowhere/client"], 60, "status 127: can't be started: No such file or directory"),
        (python("raise SystemExit('no such bucket')"), 60, "exited with status 1: no such bucket"),
        (python("import time; time.sleep(60)"), 0.3, "didn't finish within 0.3 s"),
    ],
    ids=["missing", "failing", "hanging"],
)
def test_a_client_that_fails_or_hangs_is_no_measurement(command, timeout_s, message):
    with pytest.raises(BenchError, match=message):
        run_child(command, timeout_s)


def test_a_server_runs_while_the_block_does_and_is_stopped_when_it_fails(tmp_path):
    with pytest.raises(KeyboardInterrupt), running(*web_server(tmp_path)) as pid:
        assert alive(pid)
        raise KeyboardInterrupt
    assert not alive(pid)


@pytest.mark.parametrize(
    ("command", "patience_s", "message"),
    [
        (python("print('port taken'); raise SystemExit(4)"), 60, "^web exited immediately with status 4: port taken$"),
        (python("import time; time.sleep(60)"), 0.3, "^web didn't answer at .* within 0.3 s: its log is empty$"),
    ],
    ids=["ending", "silent"],
)
def test_a_server_that_does_not_serve_is_given_up_with_its_last_words(tmp_path, command, patience_s, message):
    with pytest.raises(BenchError, match=message):
        running(command, "web", tmp_path, f"http://127.0.0.1:{free_port()}/", start_timeout_s=patience_s).__enter__()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the kernel's help is Linux's")
def test_no_server_outlives_a_bench_that_is_killed(tmp_path):
    command, name, _, url = web_server(tmp_path)
    script = textwrap.dedent(f"""
        import time
        from pathlib import Path
        from bench.process import running
        with running({command!r}, {name!r}, Path({str(tmp_path)!r}), {url!r}) as pid:
            print(pid, flush=True)
            time.sleep(60)
    """)
    with subprocess.Popen(python(script), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=HERE) as bench:
        pid = int(bench.stdout.readline())
        bench.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 60
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not alive(pid)


class CountingQueue:
    """Stands in for boto3's client of a queue: keeps the bodies, refuses the entries that it is told to."""

    def __init__(self, refused=()):
        self.seqs, self.refused = [], list(refused)

    def send_message_batch(self, QueueUrl, Entries):
        self.seqs += [json.loads(entry["MessageBody"])["seq"] for entry in Entries]
        return {"Failed": self.refused} if self.refused else {"Successful": []}

    def get_queue_attributes(self, QueueUrl, AttributeNames):
        return {"Attributes": {AttributeNames[0]: str(len(self.seqs))}}

    def purge_queue(self, QueueUrl):
        self.seqs.clear()


def test_only_a_flood_whose_messages_are_all_there_gives_a_rate():
    queue = flood.Queue(CountingQueue(), "http://127.0.0.1:9/000000000000/q")
    flood.one_batch_at_a_time(queue)
    assert queue.client.seqs == list(range(flood.MESSAGES))
    queue.empty()
    assert flood.rate(queue, lambda: flood.one_batch_at_a_time(queue)) > 0
    with pytest.raises(BenchError, match=f"^0 of {flood.MESSAGES} messages are in the queue"):
        flood.rate(queue, lambda: None)
    with pytest.raises(BenchError, match="refused 1 of the peer's messages"):
        flood.one_batch_at_a_time(flood.Queue(CountingQueue([{"Id": "3"}]), "http://127.0.0.1:9/000000000000/q"))


def test_the_bare_peer_sends_every_message_once_and_takes_nothing_but_200_for_an_answer():
    class Key:
        access_key, secret_key, token = "test", "test", None

    with FakeSqs(OK, OK, OK, DENY) as sqs:
        requests = flood.bare_requests(Endpoint(sqs.url, "us-east-1", Key), "http://q", 23)
        raw_http.post_all(sqs.url, requests, 2)
        assert sorted(json.loads(body)["seq"] for body in sqs.accepted) == list(range(23))
        with pytest.raises(BenchError, match=r"HTTP/1\.1 403"):
            raw_http.post_all(sqs.url, requests[:1], 1)


def test_memory_counts_only_for_a_run_that_is_accounted_for():
    with flood.run_folder() as folder:
        folder.append("sent.jsonl", [{"cell": flood.CELL, "seq": seq, "sent_at_ms": 1} for seq in range(25)])
        assert flood_memory._write_records(folder) == 25
        flood_memory.account_once(str(folder.path), 25)
        folder.append("sent.jsonl", [{"cell": flood.CELL, "seq": 25, "sent_at_ms": 1}])
        with pytest.raises(BenchError, match="1 UNACCOUNTED"):
            flood_memory.account_once(str(folder.path), 26)


def test_a_tool_is_fetched_once_and_one_that_can_not_be_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("STAMPEDE_CACHE_DIR", str(tmp_path / "cache"))
    with pytest.raises(BenchError, match=r"^mvn is missing: fetching ElasticMQ needs it; install Apache Maven"):
        tools.elasticmq_jars()
    for name, script in (("mvn", "echo '[ERROR] no artifact'; exit 3"), ("go", 'echo "$@" >> "$GOBIN/versitygw"')):
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    with pytest.raises(BenchError, match=r"failed with status 3: \[ERROR\] no artifact$"):
        tools.elasticmq_jars()
    assert list((tmp_path / "cache" / "bench").iterdir()) == []
    for _ in range(2):
        invocation = tools.go_binary(tools.VERSITYGW).read_text()
        assert invocation == f"install github.com/versity/versitygw/cmd/versitygw@{tools.VERSITYGW.version}\n"


def test_the_shells_account_and_proxy_are_left_out(monkeypatch):
    environment = {"AWS_PROFILE": "production", "AWS_ENDPOINT_URL": "https://example.com", "NO_PROXY": "internal"}
    monkeypatch.setattr(os, "environ", environment)
    stay_on_loopback()
    assert not {"AWS_PROFILE", "AWS_ENDPOINT_URL"} & environment.keys()
    assert environment["NO_PROXY"] == "internal,127.0.0.1"
    assert flood.sqs_client("http://127.0.0.1:9").meta.endpoint_url == "http://127.0.0.1:9"


def test_every_method_of_the_function_is_measured_with_its_default_sink_and_a_file():
    variants = matrix.python_variants()
    assert {("stream", "discard"), ("ranges", "memory")} <= set(variants)
    assert {method for method, sink in variants if sink == "tmp"} == {method for method, _ in variants}
