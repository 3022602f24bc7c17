"""The entries of `make bench`, small: each side does its work, and a run that did another isn't counted."""

import json
import shutil
import sys
from functools import partial

import pytest

from bench import aa, clients, copies, downloads, express, flood, function, insights, simulate
from bench.ratios import measure
from bench.servers import BUCKET, Place, front, place
from experiments.download.declaration import DOWNLOAD
from stampede.errors import RunError
from tests.contract import synthetic
from tests.fakes import s3 as fake_s3
from tests.fakes.sqs import FakeSqs


@pytest.fixture
def store():
    with front(cores=1) as made, place(made.url) as at:
        yield at, made


@pytest.fixture
def fake(tmp_path):
    """A fake S3 with an object and small files, as a place."""
    files = {"0000.dat": b"a" * 10_000, "0001.dat": b"b" * 20_000}
    objects = {fake_s3.KEY: b"x" * 2**20, **{f"small/{name}": body for name, body in files.items()}}
    with fake_s3.FakeS3(0, objects=objects) as s3:
        yield Place(s3.url, tmp_path), files


def download(at, method, **order):
    invoke = clients.go if method.startswith("go_") else clients.python
    settings = {"BUCKET_NAME": fake_s3.BUCKET, "FILE_NAME": fake_s3.KEY}
    return invoke(at, "download", order, METHOD=method, **settings)


@pytest.mark.parametrize("method", ["stream", "go_stream"])
def test_a_function_runs_once_in_a_process_of_its_own_and_must_get_what_is_there(fake, method):
    record = download(fake[0], method, object_bytes=2**20)
    assert (record["method"], record["bytes"], record["run_id"]) == (method, 2**20, "bench")
    assert 0 < record["download_time_seconds"] < record["wall_s"]
    assert record["cpu_s"] > 0 and record["peak_mb"] > 1
    assert list(fake[0].folder.iterdir()) == []
    for order, error in (({"object_bytes": 5}, "SizeMismatch"), ({"checksum": f"crc32:{0:08x}"}, "ChecksumMismatch")):
        with pytest.raises(RunError, match=error):
            download(fake[0], method, **order)


@pytest.mark.parametrize("records", [0, 2])
def test_none_or_two_records_are_no_measurement(tmp_path, records):
    script = f'for _ in range({records}): print(\'{{"status": "ok"}}\')'
    with pytest.raises(RunError, match="should have logged a success"):
        clients._invoked(Place("http://127.0.0.1:9", tmp_path), [sys.executable, "-c", script], 0)


def test_small_files_are_read_by_the_function_and_others_are_no_measurement(fake, monkeypatch):
    at, files = fake
    monkeypatch.setitem(clients.LABELS, "BUCKET_NAME", fake_s3.BUCKET)
    assert downloads.pool_of_small(at, files)["seconds"] > 0
    with pytest.raises(RunError, match="SizeMismatch"):
        downloads.pool_of_small(at, files | {"0002.dat": b"c"})


@pytest.mark.parametrize("wrong", [-1, +1, 0], ids=["short", "long", "other"])
def test_a_peer_counts_only_if_it_left_the_object_and_leaves_nothing(tmp_path, monkeypatch, wrong):
    monkeypatch.setattr(downloads, "PIECES", 2)
    good = downloads.PIECE * 2
    path = tmp_path / "object"
    path.write_bytes(good)
    assert downloads.remove_checked(path) >= 0
    path.write_bytes((good[:-1] + b"xy")[: len(good) + wrong] if wrong >= 0 else good[:-1])
    with pytest.raises(RunError, match="aren't the object's"):
        downloads.remove_checked(path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("wrong", [{"a": b"1"}, {"a": b"1", "b": b"x"}, {"a": b"1", "b": b"2", "c": b"3"}])
def test_small_objects_count_only_when_all_are_there_with_their_bytes(tmp_path, wrong):
    for name, body in wrong.items():
        (tmp_path / name).write_bytes(body)
    with pytest.raises(RunError, match="or their bytes differ"):
        downloads.remove_compared(tmp_path, {"a": b"1", "b": b"2"})
    assert len(set(downloads.SMALL.values())) == 1000


def test_both_sides_of_express_move_the_same_set_with_a_request_for_each_object(store, monkeypatch):
    monkeypatch.setattr(express, "OBJECTS", 23)
    monkeypatch.setattr(express, "LOOP_OBJECTS", 5)
    at, counting = store
    for request, objects, run in (
        ("put", 23, partial(express.function, at, "upload")),
        ("put", 5, partial(express.put_loop, at)),
        ("get", 23, partial(express.function, at, "download")),
        ("get", 5, partial(express.get_loop, at)),
    ):
        assert express.counted(counting, request, objects, run)["objects_per_s"] > 0
    with pytest.raises(RunError, match=r"^0 PUT requests for 3 objects"):
        express.counted(counting, "put", 3, dict)
    at.client().put_object(Bucket=BUCKET, Key=f"{express.LOOP_PREFIX}another", Body=b"x")
    with pytest.raises(RunError, match="6 of 5 objects"):
        express.get_loop(at)


@pytest.mark.parametrize("client", [copies.copy, copies.copy_by_boto3])
def test_a_client_copies_the_list_with_as_many_calls_or_is_no_measurement(store, monkeypatch, client):
    monkeypatch.setattr(copies, "CALLS", 23)
    at, counting = store
    copies.put_master(at)
    figures = copies.call_costs(at, client)
    assert counting.requests()["copy"] == 23
    assert min(figures.values()) > 0
    with pytest.raises(RunError, match=r"^0 of 23 objects exist"):
        copies.call_costs(at, lambda at, rows: {"cpu_s": 1.0, "wall_s": 1.0})


def test_the_slowest_worker_is_compared_with_its_share_and_none_may_fail(store, monkeypatch):
    monkeypatch.setattr(copies, "LIMIT_PER_S", 40)
    monkeypatch.setattr(copies, "RUN_SECONDS", 1)
    with copies.adaptive(2) as (ours, limit):
        figures = ours()
    assert 0 < figures["copies_per_s"] <= 40 and 0.5 <= figures["jain"] <= 1 and 0 <= figures["slow_down_share"] < 1
    assert limit() == {"copies_per_s": 20}
    monkeypatch.setattr(copies, "SLOW_CASES", ((40, 1, 1, 10), (40, 2, 400, 2)))
    monkeypatch.setattr(copies, "SLOW_SECONDS", 1)
    with copies.adaptive_slow() as (ours, _):
        assert 0 < ours()["of_limit"] < 0.5  # 2 workers, 2 calls of 0.4 s at once each, are slower than 40/s
    monkeypatch.setattr(copies, "put_master", lambda at: None)
    with pytest.raises(RunError, match="NoSuchKey"):
        copies.paced(store[1].url, 1, 1, 10, 1)


def test_jain_is_1_where_all_have_the_same_and_less_where_not():
    assert copies.jain([5.0, 5.0]) == 1
    assert copies.jain([1.0, 3.0]) == pytest.approx(0.8)


class CountingQueue:
    """Stands in for boto3's client of a queue."""

    def __init__(self):
        self.seqs = []

    def send_message_batch(self, QueueUrl, Entries):
        self.seqs += [json.loads(entry["MessageBody"])["seq"] for entry in Entries]

    def get_queue_attributes(self, QueueUrl, AttributeNames):
        return {"Attributes": {AttributeNames[0]: str(len(self.seqs))}}

    def purge_queue(self, QueueUrl):
        self.seqs.clear()


def test_only_a_flood_whose_messages_are_all_there_gives_a_rate():
    sqs = CountingQueue()
    for sent in (50, 70):
        with pytest.raises(RunError, match=f"^{sent} of 60 messages are in the queue"):
            flood.rate(sqs, "q", lambda url, _, sent=sent: flood.one_batch_at_a_time(sqs, url, sent), 60)
    flood.one_batch_at_a_time(sqs, "q", 60)
    assert sqs.seqs == list(range(60))
    sqs.seqs.clear()
    assert flood.rate(sqs, "q", partial(flood.one_batch_at_a_time, sqs), 60)["messages_per_s"] > 0


def test_ours_is_the_flood_of_the_command():
    with FakeSqs() as sqs:
        flood.flooded(sqs.url, sqs.queue_url, 23)
        assert sorted(json.loads(body)["seq"] for body in sqs.accepted) == list(range(23))


@pytest.mark.parametrize("side", ["lines", "columns"])
def test_both_sides_give_the_same_table_of_every_record_and_others_are_no_measurement(monkeypatch, side):
    monkeypatch.setattr(insights, "PER_N", 10)
    with insights.summary(side) as sides:
        assert min(min(run().values()) for run in sides) > 0
        monkeypatch.setattr(insights, "in_child", lambda side, run: ([[1.0, 2.0]], {}))
        with pytest.raises(RunError, match="disagree"):
            sides[0]()


def test_a_report_counts_only_with_every_record(monkeypatch):
    monkeypatch.setattr(insights, "PER_N", 1)
    with insights.whole_report() as (ours, _):
        assert ours()["seconds"] > 0
        monkeypatch.setattr(insights, "PER_N", 2)
        with pytest.raises(RunError, match="should have counted 2 records of each function"):
            ours()


def test_the_model_and_simpy_agree_on_when_a_flood_has_drained_or_are_not_compared():
    ours, peer = (drain_s(3_000, 1_050) for drain_s in (simulate.drain_s, simulate.simpy_drain_s))
    assert ours == pytest.approx(peer, rel=simulate.SAME_DRAIN)
    with pytest.raises(RunError, match=r"drain in 103.0 and 100.0 s"):
        simulate.timed(lambda: 103.0, 100.0)


def test_the_cost_of_the_proxy_is_what_is_added_to_the_same_invocation(monkeypatch, tmp_path):
    monkeypatch.setattr(function, "INVOCATIONS", 20)
    with function.proxy(is_python=True) as (ours, _):
        figures = ours()
    assert figures["bare_us"] > 0 and figures["recorded_us"] > 0
    program = tmp_path / "bench"
    lines = ["Invocation/bare-2 3000 160000 ns/op", "Invocation/measured-2 3000 410000 ns/op 91 recorded-us"]
    program.write_text("#!/bin/sh\n" + "".join(f"echo 'Benchmark{line}'\n" for line in lines))
    program.chmod(0o755)
    assert function.added(program, "") == {"bare_us": 160.0, "added_us": 250.0, "recorded_us": 91.0}
    program.write_text("#!/bin/sh\necho no benchmark\n")
    with pytest.raises(RunError, match="printed 'no benchmark"):
        function.added(program, "")


def test_what_was_swept_is_counted_and_not_swept_again(tmp_path, monkeypatch):
    settings = ("memory_size=1024,2048", "concurrency_value=1")
    takes = {"same": lambda demand: 1.0, "other": lambda demand: 1.0 + (demand.memory_mb == 2048)}
    runs = {
        name: synthetic.write(tmp_path / name, DOWNLOAD, settings, takes=each, repeats=5, finished_at="2026")
        for name, each in takes.items()
    }
    monkeypatch.setattr(aa, "FOLDER", tmp_path / "aa")
    monkeypatch.setattr(aa, "SWEEPS", 4)
    swept = []

    def run_child(command, *_, **__):
        if "sweep" in command:
            swept.append(command[command.index("--seed") + 1])
            shutil.copytree(runs["other" if swept == ["3"] else "same"], tmp_path / "aa/aa_download_load" / swept[-1])

    for number in "12":
        shutil.copytree(runs["same"], tmp_path / "aa/aa_download_load" / number)
    monkeypatch.setattr(aa, "run_child", run_child)
    with aa.pages_without_a_claim("aa_download_load") as (ours, promised):
        assert ours() == {"of_pages": 0.75, "claims": 1, "sweeps": 4}
    assert swept == ["3", "4"]
    assert promised() == {"of_pages": 0.95}


def test_every_entry_has_a_name_of_its_own_and_sides_that_can_be_measured():
    from bench.__main__ import MEASUREMENTS

    names = [name for measurement in MEASUREMENTS for name in measurement.entries]
    assert len(set(names)) == len(names) == 27 and callable(measure)
