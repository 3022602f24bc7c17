"""A sweep of somebody's program for provided.al2023, which throws, exits and fails in part: `make test-slow`."""

import json
import os
import subprocess
import zipfile
from collections import Counter

import pytest

from stampede.runs.folder import RunFolder
from tests.emulator.applied_stack import STAMPEDE
from tests.unit.functions.transfer.transfer_program import SOURCES

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
		message := event.Records[0]
		switch message.Body {
		case `"throw"`:
			err = errors.New("thrown")
		case `"exit"`:
			os.Exit(3)
		case `"exit once"`:
			if message.Attributes["ApproximateReceiveCount"] == "1" {
				os.Exit(4)
			}
		case `"partial"`:
			answer.BatchItemFailures = []events.SQSBatchItemFailure{{ItemIdentifier: message.MessageId}}
		}
		return
	})
}
"""
PAYLOADS = {'{"fine": true}': 14, '"throw"': 2, '"exit"': 2, '"exit once"': 2, '"partial"': 2}

pytestmark = [pytest.mark.slow, pytest.mark.timeout(MOST_S + 60)]


def test_every_message_of_a_program_is_accounted_for_by_kind(tmp_path):
    (tmp_path / "main.go").write_text(PROGRAM)
    build = ["go", "build", "-o", str(tmp_path / "bootstrap"), str(tmp_path / "main.go")]
    subprocess.run(build, cwd=SOURCES, env=os.environ | {"CGO_ENABLED": "0"}, check=True, timeout=MOST_S)
    with zipfile.ZipFile(tmp_path / "program.zip", "w") as package:
        package.write(tmp_path / "bootstrap", "bootstrap")
    weighted = [{"payload": json.loads(body), "weight": weight} for body, weight in PAYLOADS.items()]
    (tmp_path / "payloads.json").write_text(json.dumps(weighted))
    settings = ["package=program.zip", "runtime=provided.al2023", "memory_size=1024", "concurrency_value=2"]
    swept = subprocess.run(
        [*STAMPEDE, "sweep", "function", "--payload", "payloads.json"]
        + [part for setting in settings for part in ("--set", setting)],
        cwd=tmp_path,
        env=os.environ | {"STAMPEDE_STATE_DIR": str(tmp_path / "state")},
        capture_output=True,
        text=True,
        timeout=MOST_S,
        check=False,
    )
    assert swept.returncode == 0, swept.stderr[-3000:]
    (folder,) = (tmp_path / "results").iterdir()

    (account,) = json.loads((folder / "accounting.json").read_text())
    assert {name: count for name, count in account.items() if count and name != "cell"} == {
        "sent": 22,
        "succeeded": 16,
        "dead_lettered": 6,
    }
    records = list(RunFolder(folder).rows("records.jsonl"))
    assert Counter((record["payload"], record.get("error_type", "ok")) for record in records) == {
        (0, "ok"): 14,
        (1, "HandlerError"): 2 * 5,
        (2, "HandlerExited"): 2 * 5,
        (3, "HandlerExited"): 2,
        (3, "ok"): 2,
        (4, "PartialFailure"): 2 * 5,
    }
    assert min(record["elapsed_seconds"] for record in records if record["status"] == "ok") >= SLEEP_S
