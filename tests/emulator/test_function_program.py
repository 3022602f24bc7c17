"""Sweeps of a user's program for provided.al2023 that throws, exits and fails in part, by message
and by batch (`make test-slow`)."""

import json
import os
import subprocess
import zipfile
from collections import Counter

import pytest

from stampede.checkout import FUNCTIONS
from stampede.runs.folder import RunFolder
from tests.emulator.embedded_aws import run, settings
from tests.unit.report.recompute import mismatches

MOST_S = 600
SLEEP_S = 0.02
# A message's body says what to do. Half a line on stdout must not cost a record.
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


def built_program(folder):
    """Build the program's package, a zip, and return the settings that run it."""
    (folder / "main.go").write_text(PROGRAM)
    build = ["go", "build", "-o", str(folder / "bootstrap"), str(folder / "main.go")]
    environment = os.environ | {"CGO_ENABLED": "0"}
    subprocess.run(build, cwd=FUNCTIONS / "transfer", env=environment, check=True, timeout=MOST_S)
    with zipfile.ZipFile(folder / "program.zip", "w") as package:
        package.write(folder / "bootstrap", "bootstrap")
    return ["package=program.zip", "runtime=provided.al2023"]


def swept_with(folder, package, payloads, *more):
    """Run a sweep with N = 2; return its folder, its account without zeros, and its records."""
    weighted = [
        {"payload": json.loads(body), "weight": weight} for body, weight in payloads.items()
    ]
    (folder / "payloads.json").write_text(json.dumps(weighted))
    swept = settings(*package, "memory_size=1024", "concurrency_value=2")
    run(folder, "sweep", "function", "--payload", "payloads.json", *more, *swept)
    (results,) = (folder / "results").iterdir()
    (account,) = json.loads((results / "accounting.json").read_text())
    counts = {name: count for name, count in account.items() if count and name != "cell"}
    return results, counts, list(RunFolder(results).rows("records.jsonl"))


def test_every_message_of_a_program_is_accounted_for_by_kind(tmp_path):
    _, counts, records = swept_with(tmp_path, built_program(tmp_path), PAYLOADS)
    assert counts == {"sent": 22, "succeeded": 16, "dead_lettered": 6}
    assert Counter((record["payload"], record.get("error_type", "ok")) for record in records) == {
        (0, "ok"): 14,
        (1, "HandlerError"): 2 * 5,
        (2, "HandlerExited"): 2 * 5,
        (3, "HandlerExited"): 2,
        (3, "ok"): 2,
        (4, "PartialFailure"): 2 * 5,
    }
    ok = [record["elapsed_seconds"] for record in records if record["status"] == "ok"]
    assert min(ok) >= SLEEP_S


def test_each_message_of_a_batch_has_a_record_and_an_invocation_is_one_operation(tmp_path):
    payloads = {'{"fine": true}': 24, '"throw once"': 3, '"partial"': 3}
    package = [*built_program(tmp_path), "batch_size=5"]
    few = ["--messages-per-concurrency", "3"]
    folder, counts, records = swept_with(tmp_path, package, payloads, *few)
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
        starts = {(record["batch"], record["started_at_ms"]) for record in batch}
        assert starts == {(len(batch), batch[0]["started_at_ms"])}
    assert 1 < max(map(len, invocations.values())) <= 5
    # A thrown error fails the whole batch, a named failure only its message.
    error_types = [[record.get("error_type") for record in batch] for batch in invocations.values()]
    assert all(len(set(kinds)) == 1 for kinds in error_types if "HandlerError" in kinds)

    first = [batch[0] for batch in invocations.values() if batch[0]["status"] == "ok"]
    stated = json.loads((folder / "statistics.json").read_text())
    assert sum(cell["count"] for cell in stated["cells"]) == len(first) < 27
    assert mismatches(folder) == []
