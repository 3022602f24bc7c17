"""What a flood leaves when it is killed, and what memory it takes: seen from outside, in a process of its own."""

import json
import os
import signal
import subprocess
import sys
import time

from bench.child import run_child
from stampede.runs.folder import RunFolder
from tests.fakes.sqs import FakeSqs

IN_FLIGHT = 8
CELL = "memory_size=1024,concurrency_value=5"
FLOOD = f"""
import sys
from pathlib import Path
from types import SimpleNamespace
from loader.flood import orders, sent_log
from stampede.runs.folder import RunFolder
from loader.sqs.sending import send_to
from loader.sqs.service import Endpoint

url, queue_url, folder, count = sys.argv[1:]
key = SimpleNamespace(access_key="test", secret_key="test", token=None)
run = RunFolder(Path(folder))
log = sent_log(run, "{CELL}")
source = orders(run.run_id, "{CELL}", int(count), {{}})
outcome = send_to(Endpoint(url, "us-east-1", lambda: key), queue_url, source, log, in_flight={IN_FLIGHT})
assert outcome.sent == int(count), outcome.sentence()
"""


def command(sqs, folder, count):
    return [sys.executable, "-c", FLOOD, sqs.url, sqs.queue_url, str(folder), str(count)]


def seqs_accepted(sqs):
    return [json.loads(body)["seq"] for body in sqs.accepted]


def test_a_flood_that_is_killed_has_written_down_all_but_the_batches_in_flight(tmp_path):
    with FakeSqs() as sqs:
        process = subprocess.Popen(command(sqs, tmp_path, 1_000_000))
        try:
            deadline = time.monotonic() + 30
            while len(sqs.accepted) < 2_000 and time.monotonic() < deadline:
                time.sleep(0.01)
            os.kill(process.pid, signal.SIGKILL)
        finally:
            process.kill()
            process.wait()
        time.sleep(0.2)  # what is on its way to the server arrives
        accepted = seqs_accepted(sqs)
    written = [row["seq"] for row in RunFolder(tmp_path).rows("sent.jsonl")]
    assert len(accepted) >= 2_000
    assert len(set(accepted)) == len(accepted)
    assert len(set(written)) == len(written)
    assert set(written) <= set(accepted)
    assert len(accepted) - len(written) <= IN_FLIGHT * 10


def test_ten_times_the_messages_take_no_more_memory_and_each_has_its_line(tmp_path):
    peaks_mb = []
    for count in (3_000, 30_000):
        with FakeSqs() as sqs:
            folder = RunFolder.create(tmp_path, str(count))
            peaks_mb.append(run_child(command(sqs, folder.path, count))[1]["peak_mb"])
        assert sorted(seqs_accepted(sqs)) == sorted(row["seq"] for row in folder.rows("sent.jsonl")) == [*range(count)]
    assert peaks_mb[1] - peaks_mb[0] < 2
