"""The wrapper around a user's handler: every way in which a handler can end is a record, and nothing of it changes."""

import io
import json
import subprocess
import sys
import time
from contextlib import redirect_stdout
from pathlib import Path
from time import perf_counter, process_time

import pytest

from tests.unit.functions.lambda_sandbox import ENVIRONMENT, Context, set_environment, sqs_record

FUNCTIONS = Path(__file__).resolve().parents[4] / "functions"
RECORD = json.loads((FUNCTIONS / "agreed" / "record.json").read_text())
ORDER = {"run_id": "run-1", "cell": "memory_size=1024", "seq": 7, "warm_up": 0, "payload": 2}
OWN = {"PACKAGE": "thumbnail", "RUNTIME": "python3.12", "ARCHITECTURE": "arm64", "HANDLER": "app.handler"}


@pytest.fixture
def layer(tmp_path):
    """Our layer, unpacked as Lambda does, from the files that infra/modules/worker puts into it."""
    opt = tmp_path / "opt"
    for name in ("common", "function"):
        (opt / "stampede" / name).mkdir(parents=True)
        for file in (FUNCTIONS / name).glob("*.py"):
            if file.name != "stampede_wrapper.py":
                (opt / "stampede" / name / file.name).write_bytes(file.read_bytes())
    (opt / "python").mkdir()
    (opt / "python" / "stampede_wrapper.py").write_bytes((FUNCTIONS / "function" / "stampede_wrapper.py").read_bytes())
    return opt


@pytest.fixture
def function(layer, tmp_path, monkeypatch, sqs):
    """Makes a sandbox of a package with these files, and returns its `invoke`."""
    before, path = dict(sys.modules), list(sys.path)

    def make(app, handler="app.handler", **modules):
        package = tmp_path / "task"
        for name, content in {"app": app, **modules}.items():
            file = package / f"{name}.py"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)
        set_environment(monkeypatch, tmp_path, AWS_ENDPOINT_URL_SQS=sqs.url)
        for name, value in (OWN | {"HANDLER": handler}).items():
            monkeypatch.setenv(f"STAMPEDE_{name}", value)
        for name in [name for name in sys.modules if name.partition(".")[0] in ("common", "function", "app", "pkg")]:
            del sys.modules[name]
        sys.path[:0] = [str(package), str(layer / "python")]
        import stampede_wrapper

        return Invoked(stampede_wrapper.handler)

    yield make
    sys.modules.clear()
    sys.modules.update(before)
    sys.path[:] = path


class Invoked:
    """A sandbox whose handler is invoked with one message; `records` are those that it has written since."""

    def __init__(self, handler):
        self.handler, self.records = handler, []

    def __call__(self, body="{}", order=ORDER, remaining_s=30.0, attempt=1):
        message = sqs_record(body, attempt)
        if order is not None:
            message["messageAttributes"] = {
                "stampede": {
                    "stringValue": order if isinstance(order, str) else json.dumps(order),
                    "dataType": "String",
                }
            }
        log = io.StringIO()
        try:
            with redirect_stdout(log):
                return self.handler({"Records": [message]}, Context(remaining_s))
        finally:
            self.log = log.getvalue()
            self.records = [json.loads(line) for line in self.log.splitlines() if line.startswith('{"concurrency')]


def test_a_handler_gets_the_event_unchanged_and_its_reply_goes_back_unchanged(function):
    invoke = function("def handler(event, context): return {'event': event, 'id': context.aws_request_id}")
    reply = invoke('{"width": 5}')
    assert reply["event"]["Records"][0]["body"] == '{"width": 5}'
    [record] = invoke.records
    assert reply["id"] == record["request_id"]
    expected = [
        *("elapsed_seconds" if key == "<time>" else key for key in RECORD["common"]),
        *RECORD["own"]["function"],
    ]
    assert list(record) == expected
    assert (record["status"], record["bytes"], record["payload"], record["seq"]) == ("ok", 12, 2, 7)
    assert (record["package"], record["architecture"], record["runtime"]) == ("thumbnail", "arm64", "python3.12")
    assert (record["experiment"], record["method"], record["warm_up"]) == ("function", None, 0)


TIMES_ITSELF = """
from time import perf_counter, process_time, sleep
began = perf_counter()
sleep(0.1)
def handler(event, context):
    seconds, cpu_seconds = perf_counter(), process_time()
    sleep(0.2)
    sum(range(10**6))
    return {"s": perf_counter() - seconds, "cpu_s": process_time() - cpu_seconds, "init_s": init_s}
init_s = perf_counter() - began
"""


def test_seconds_and_cpu_are_the_handlers_and_the_first_invocation_tells_the_init(function):
    began_s = perf_counter()
    invoke = function(TIMES_ITSELF)
    started_s, records = perf_counter() - began_s, []
    for _ in range(2):
        began_s, began_cpu_s = perf_counter(), process_time()
        own = invoke()
        whole_s, whole_cpu_s = perf_counter() - began_s, process_time() - began_cpu_s
        [record] = invoke.records
        records.append(record)
        assert own["s"] <= record["elapsed_seconds"] <= whole_s
        # The system counts CPU time by ticks, process_time by nanoseconds.
        assert own["cpu_s"] - 0.02 <= record["client_cpu_seconds"] <= whole_cpu_s + 0.02
        assert 5 < record["peak_memory_mb"] < 2000
    cold, warm = records
    assert own["init_s"] <= cold["init_seconds"] <= started_s and warm["init_seconds"] is None
    assert [cold["start"], cold["cold_start"], warm["start"], warm["cold_start"]] == ["cold", 1, "warm", 0]
    assert cold["sandbox_id"] == warm["sandbox_id"]


@pytest.mark.parametrize(
    ("code", "error", "error_type", "message"),
    [
        ("raise ValueError('no such width')", ValueError, "HandlerError", "ValueError: no such width"),
        ("sys.exit(3)", SystemExit, "HandlerExited", "SystemExit: 3"),
        ("raise KeyboardInterrupt", KeyboardInterrupt, "HandlerError", "KeyboardInterrupt: "),
    ],
)
def test_what_a_handler_raises_is_a_record_and_raised_again(function, sqs, code, error, error_type, message):
    invoke = function(f"import sys\ndef handler(event, context):\n  {code}")
    with pytest.raises(error):
        invoke(attempt=3)
    [record] = invoke.records
    assert (record["status"], record["error_type"], record["error_message"]) == ("error", error_type, message.strip())
    assert "elapsed_seconds" not in record and record["seq"] == 7
    assert [change["VisibilityTimeout"] for change in sqs.visibility_changes] == [8]


@pytest.mark.parametrize("reply", ["{1, 2}", "b'x'"])
def test_a_reply_that_is_not_json_fails_and_goes_back_all_the_same(function, reply):
    invoke = function(f"def handler(event, context): return {reply}")
    assert invoke() is not None
    [record] = invoke.records
    assert record["error_type"] == "InvalidResponse"
    assert "is not JSON serializable" in record["error_message"]


@pytest.mark.parametrize(
    "reply", ["None", "'done'", "{'batchItemFailures': []}", "{'batchItemFailures': None}", "D(1)"]
)
def test_a_reply_that_lambda_and_sqs_take_is_a_success(function, sqs, reply):
    invoke = function(f"from decimal import Decimal as D\ndef handler(event, context): return {reply}")
    invoke()
    assert [record["status"] for record in invoke.records] == ["ok"]
    assert sqs.visibility_changes == []


@pytest.mark.parametrize(
    ("failures", "message"),
    [
        ("[{'itemIdentifier': event['Records'][0]['messageId']}]", "batchItemFailures names the message"),
        ("[{'itemIdentifier': 'another'}]", "batchItemFailures must name messages of the batch only"),
        ("[{'foo': 'notvalid'}]", "batchItemFailures must name messages of the batch only"),
        ("'all'", "batchItemFailures must name messages of the batch only"),
    ],
)
def test_a_partial_batch_failure_is_one_of_the_message(function, sqs, failures, message):
    invoke = function(f"def handler(event, context): return {{'batchItemFailures': {failures}}}")
    assert invoke()["batchItemFailures"]
    [record] = invoke.records
    assert record["error_type"] == "PartialFailure" and record["error_message"].startswith(message)
    assert len(sqs.visibility_changes) == 1


@pytest.mark.parametrize(
    ("handler", "words"),
    [
        ("nowhere.handler", "ModuleNotFoundError: No module named 'nowhere'"),
        ("app.main", "AttributeError: module 'app' has no attribute 'main'"),
        ("broken.handler", "ZeroDivisionError: division by zero"),
        ("exits.handler", "SystemExit: 5"),
    ],
)
def test_a_handler_that_cannot_be_imported_fails_every_message(function, handler, words):
    invoke = function("def handler(event, context): ...", handler, broken="1 / 0", exits="import sys\nsys.exit(5)")
    for _ in range(2):
        with pytest.raises(Exception, match="can't be imported"):
            invoke()
        [record] = invoke.records
        assert record["error_type"] == "HandlerMissing" and record["error_message"].endswith(words)


def test_a_package_with_modules_named_as_ours_gets_its_own(function):
    app = (
        "import common, function\nfrom common import record\ndef handler(event, context): return [common.A, function.B]"
    )
    invoke = function(app, **{"common/__init__": "A = 1", "common/record": "", "function": "B = 2"})
    for _ in range(2):
        assert invoke() == [1, 2]
        assert [record["status"] for record in invoke.records] == ["ok"]
    assert not any("stampede" in (getattr(sys.modules[name], "__file__", "") or "") for name in ("common", "function"))
    assert "boto3" not in invoke.log


@pytest.mark.parametrize("handler", ["pkg.app.handler", "pkg/app.handler"])
def test_a_handler_of_a_nested_package_is_imported(function, handler):
    invoke = function("", handler, **{"pkg/app": "def handler(event, context): return 'nested'"})
    assert invoke() == "nested"


def test_a_handler_that_still_runs_shortly_before_the_timeout_leaves_a_record_then(function, sqs):
    invoke = function("import time\ndef handler(event, context): time.sleep(0.6)")
    invoke(remaining_s=0.5)
    late, ended = invoke.records
    assert (late["error_type"], late["status"], ended["status"]) == ("HandlerTimedOut", "error", "ok")
    assert late["finished_at_ms"] - late["started_at_ms"] in range(250, 450)
    assert (late["seq"], late["request_id"]) == (ended["seq"], ended["request_id"])
    assert len(sqs.visibility_changes) == 1
    invoke(remaining_s=2)
    assert [record["status"] for record in invoke.records] == ["ok"]


def test_the_handler_begins_at_start_at_ms_and_a_start_too_late_is_refused(function):
    invoke = function("import time\ndef handler(event, context): return time.time() * 1000")
    start_at_ms = int(time.time() * 1000) + 300
    assert invoke(order=ORDER | {"start_at_ms": start_at_ms}) >= start_at_ms
    [record] = invoke.records
    assert record["elapsed_seconds"] < 0.2 and record["started_at_ms"] >= start_at_ms
    with pytest.raises(Exception, match="choose an earlier start"):
        invoke(order=ORDER | {"start_at_ms": start_at_ms + 60_000})
    assert [record["error_type"] for record in invoke.records] == ["StartTooLate"]


def test_a_message_of_somebody_else_is_handled_and_belongs_to_no_run(function):
    invoke = function("def handler(event, context): return 'handled'")
    assert invoke(order=None) == "handled"
    [record] = invoke.records
    assert (record["run_id"], record["cell"], record["seq"], record["status"]) == (None, None, None, "ok")
    with pytest.raises(Exception, match="unknown key"):
        invoke(order=json.dumps(ORDER | {"colour": 1}))
    assert [record["error_type"] for record in invoke.records] == ["WorkOrderError"]


def test_an_event_that_is_no_message_is_the_handlers_alone(function):
    invoke = function("def handler(event, context): return event")
    assert invoke.handler({"key": "value"}, Context(5)) == {"key": "value"}


def test_the_wrapper_imports_no_boto3_and_is_imported_in_a_fraction_of_a_second(layer, tmp_path):
    (tmp_path / "app.py").write_text("def handler(event, context): ...")
    code = (
        "import sys, time; began = time.perf_counter(); import stampede_wrapper; print(time.perf_counter() - began); "
    )
    code += "print([name for name in ('boto3', 'botocore', 'common', 'function') if name in sys.modules])"
    environment = ENVIRONMENT | {f"STAMPEDE_{name}": value for name, value in OWN.items()}
    environment |= {"PYTHONPATH": f"{tmp_path}:{layer / 'python'}"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
    seconds, modules = done.stdout.splitlines()
    assert (float(seconds) < 1, modules) == (True, "[]"), done.stderr
