"""A sweep of somebody's program for provided.al2023, and of a handler of Node.js, which throw, exit and fail in part:
`make test-slow`."""

import json
import os
import shutil
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
HANDLER = """
export const handler = async ({ Records: [{ body, messageId, attributes }] }) => {
  process.stdout.write("half a line");
  await new Promise((resolve) => setTimeout(resolve, 21));
  if (body === '"throw"') throw new Error("thrown");
  const exitsNow = body === '"exit once"' && attributes.ApproximateReceiveCount === "1";
  if (body === '"exit"' || exitsNow) process.exit(3);
  return { batchItemFailures: body === '"partial"' ? [{ itemIdentifier: messageId }] : [] };
};
"""
PAYLOADS = {'{"fine": true}': 14, '"throw"': 2, '"exit"': 2, '"exit once"': 2, '"partial"': 2}

pytestmark = [pytest.mark.slow, pytest.mark.timeout(MOST_S + 60)]


def built_program(folder):
    """The package of the program, a zip, and what runs it."""
    (folder / "main.go").write_text(PROGRAM)
    build = ["go", "build", "-o", str(folder / "bootstrap"), str(folder / "main.go")]
    subprocess.run(build, cwd=SOURCES, env=os.environ | {"CGO_ENABLED": "0"}, check=True, timeout=MOST_S)
    with zipfile.ZipFile(folder / "program.zip", "w") as package:
        package.write(folder / "bootstrap", "bootstrap")
    return ["package=program.zip", "runtime=provided.al2023"]


def node_handler(folder):
    """The package of the handler, a folder, and what runs it."""
    if shutil.which("node") is None:
        pytest.skip("there is no `node` on the PATH")
    (folder / "mine").mkdir()
    (folder / "mine" / "index.mjs").write_text(HANDLER)
    return ["package=mine", "runtime=nodejs22.x", "handler=index.handler"]


@pytest.mark.parametrize("make_package", [built_program, node_handler])
def test_every_message_of_a_program_is_accounted_for_by_kind(tmp_path, make_package):
    settings = [*make_package(tmp_path), "memory_size=1024", "concurrency_value=2"]
    weighted = [{"payload": json.loads(body), "weight": weight} for body, weight in PAYLOADS.items()]
    (tmp_path / "payloads.json").write_text(json.dumps(weighted))
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
