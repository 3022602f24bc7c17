"""Sweeps of somebody's program for provided.al2023, which throws, exits and fails in part, message by message and in
batches: `make test-slow`."""

import json
import os
import subprocess
import zipfile
from collections import Counter

import pytest

from stampede.runs.folder import RunFolder
from tests.emulator.applied_stack import STAMPEDE
from tests.unit.functions.transfer.transfer_program import SOURCES
from tests.unit.report.recompute import mismatches

MOST_S = 600
SLEEP_S = 0.02
# The body says what it does; half a line on stdout must not cost a record.
PROGRAM = """
package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	lambda.Start(func(event events.SQSEvent) (answer events.SQSEventResponse, err error) {
		fmt.Print("half a line")
		time.Sleep(20 * time.Millisecond)
		for _, message := range event.Records {
			isFirst := message.Attributes["ApproximateReceiveCount"] == "1"
			switch message.Body {
			case `"throw"`:
				err = errors.New("thrown")
			case `"throw once"`:
				if isFirst {
					err = errors.New("thrown")
				}
			case `"exit"`:
				os.Exit(3)
			case `"exit once"`:
				if isFirst {
					os.Exit(4)
				}
			case `"partial"`:
				failure := events.SQSBatchItemFailure{ItemIdentifier: message.MessageId}
				answer.BatchItemFailures = append(answer.BatchItemFailures, failure)
			}
		}
		return
	})
}
"""
PAYLOADS = {'{"fine": true}': 14, '"throw"': 2, '"exit"': 2, '"exit once"': 2, '"partial"': 2}

pytestmark = [pytest.mark.slow, pytest.mark.timeout(MOST_S + 60)]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The program as a package."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "main.go").write_text(PROGRAM)
    build = ["go", "build", "-o", str(folder / "bootstrap"), str(folder / "main.go")]
    subprocess.run(build, cwd=SOURCES, env=os.environ | {"CGO_ENABLED": "0"}, check=True, timeout=MOST_S)
    with zipfile.ZipFile(folder / "program.zip", "w") as package:
        package.write(folder / "bootstrap", "bootstrap")
    return folder / "program.zip"


def swept(tmp_path, program, payloads, *more):
    """The folder of a sweep with N = 2, its account but for what is 0, and its records."""
    weighted = [{"payload": json.loads(body), "weight": weight} for body, weight in payloads.items()]
    (tmp_path / "payloads.json").write_text(json.dumps(weighted))
    settings = [f"package={program}", "runtime=provided.al2023", "memory_size=1024", "concurrency_value=2"]
    done = subprocess.run(
        [*STAMPEDE, "sweep", "function", "--payload", "payloads.json", *more]
        + [part for setting in settings for part in ("--set", setting)],
        cwd=tmp_path,
        env=os.environ | {"STAMPEDE_STATE_DIR": str(tmp_path / "state")},
        capture_output=True,
        text=True,
        timeout=MOST_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    (folder,) = (tmp_path / "results").iterdir()
    (account,) = json.loads((folder / "accounting.json").read_text())
    counts = {name: count for name, count in account.items() if count and name != "cell"}
    return folder, counts, list(RunFolder(folder).rows("records.jsonl"))


def test_every_message_of_a_program_is_accounted_for_by_kind(tmp_path, program):
    _, counts, records = swept(tmp_path, program, PAYLOADS)
    assert counts == {"sent": 22, "succeeded": 16, "dead_lettered": 6}
    assert Counter((record["payload"], record.get("error_type", "ok")) for record in records) == {
        (0, "ok"): 14,
        (1, "HandlerError"): 2 * 5,
        (2, "HandlerExited"): 2 * 5,
        (3, "HandlerExited"): 2,
        (3, "ok"): 2,
        (4, "PartialFailure"): 2 * 5,
    }
    assert min(record["elapsed_seconds"] for record in records if record["status"] == "ok") >= SLEEP_S


def test_each_message_of_a_batch_has_its_record_and_its_end_and_an_invocation_is_one_operation(tmp_path, program):
    payloads = {'{"fine": true}': 24, '"throw once"': 3, '"partial"': 3}
    batches = ("--set", "batch_size=5", "--messages-per-concurrency", "3")
    folder, counts, records = swept(tmp_path, program, payloads, *batches)
    assert counts == {"sent": 2 * 3 * 5, "succeeded": 27, "dead_lettered": 3}
    deliveries = Counter((record["seq"], record["attempt"]) for record in records)
    assert set(deliveries.values()) == {1} and {record["payload"] for record in records} == {0}
    errors = Counter(record.get("error_type") for record in records)
    assert errors.keys() == {None, "HandlerError", "PartialFailure"} and errors["HandlerError"] >= 3
    invocations = {}
    for record in records:
        invocations.setdefault(record["request_id"], []).append(record)
    for batch in invocations.values():
        assert [record["batch_index"] for record in batch] == list(range(len(batch)))
        assert {(record["batch"], record["started_at_ms"]) for record in batch} == {
            (len(batch), batch[0]["started_at_ms"])
        }
    assert 1 < max(map(len, invocations.values())) <= 5
    # A thrown error fails the whole batch, a named message itself alone.
    of_errors = [[record.get("error_type") for record in batch] for batch in invocations.values()]
    assert all(len(set(kinds)) == 1 for kinds in of_errors if "HandlerError" in kinds)

    first = [batch[0] for batch in invocations.values() if batch[0]["status"] == "ok"]
    stated = json.loads((folder / "statistics.json").read_text())
    assert sum(cell["count"] for cell in stated["cells"]) == len(first) < 27
    for cell in stated["cells"]:
        of_cell = [record for record in first if record["start"] == cell["start"]]
        seconds = sum(record["elapsed_seconds"] for record in of_cell)
        messages = sum(record["batch"] for record in of_cell)
        assert cell["metrics"]["message_s"] == pytest.approx(seconds / messages)
    assert mismatches(folder) == []
