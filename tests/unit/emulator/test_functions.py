"""Functions of others on the embedded AWS: AWS's own runtime client, behind the proxy that measures
it."""

import http.client
import io
import json
import os
import queue
import stat
import sys
import threading
import zipfile

import pytest
from ministack.core import lambda_runtime
from ministack.services import lambda_svc

from stampede.emulator import functions, python_runtime
from tests.unit.functions.lambda_sandbox import sqs_record
from tests.unit.functions.transfer.transfer_program import transfer_program

__all__ = ["transfer_program"]

ORDER = {"run_id": "run-1", "cell": "c", "seq": 7, "payload": 2}
VARIABLES = {
    "CONCURRENCY_LIMIT": "5",
    "MEMORY_SIZE": "1024",
    "EXPERIMENT_TAG": "tag",
    "EXPERIMENT": "function",
    "STAMPEDE_PACKAGE": "mine",
    "STAMPEDE_RUNTIME": "python3.12",
    "STAMPEDE_ARCHITECTURE": "x86_64",
    "AWS_LAMBDA_EXEC_WRAPPER": "/opt/bootstrap",
}


def zipped(files):
    """A zip of these files, bootstrap executable."""
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (stat.S_IFREG | (0o755 if name == "bootstrap" else 0o644)) << 16
            archive.writestr(entry, content)
    return memory.getvalue()


@pytest.fixture
def function(monkeypatch, tmp_path, transfer_program):
    """Makes an execution environment of a package, measured by the proxy."""
    python_runtime.make_once(print)
    for module, names in {
        lambda_svc: (
            "_provided_runtime_code_dir",
            "_provided_worker_env",
            "_execute_function_warm",
        ),
        lambda_runtime: ("_worker_class_for", "_PROVIDED_LOG_MAX_LINES", "queue"),
        http.client: ("_MAXLINE",),
    }.items():
        for name in names:
            monkeypatch.setattr(module, name, getattr(module, name))  # put back afterwards
    functions.run_as_lambda_does()
    monkeypatch.setattr(lambda_svc, "_PROVIDED_CODE_CACHE", str(tmp_path / "code"))
    monkeypatch.setattr(lambda_svc, "_DOCKER_EXTRACT_CACHE", str(tmp_path / "layers"))
    monkeypatch.setattr(lambda_svc, "_provided_code_dirs", {})
    monkeypatch.setattr(lambda_svc, "_docker_extract_dirs", {})
    layers = {"proxy": zipped({"bootstrap": transfer_program.read_bytes()})}
    monkeypatch.setattr(lambda_svc, "_resolve_layer_zip", layers.get)
    # Nothing listens there: a failed message isn't hastened, and nothing else is asked.
    for name in ("ENDPOINT_URL", "CONFIG_FILE", "SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(
            f"AWS_{name}", "http://127.0.0.1:9" if name == "ENDPOINT_URL" else os.devnull
        )
    made = []

    def make(source, handler="app.handler", timeout_s=30, runtime="python3.12", **files):
        config = {
            "FunctionName": "mine",
            "FunctionArn": "arn:aws:lambda:us-east-1:000000000000:function:mine",
            "Role": "arn:aws:iam::000000000000:role/mine",
            "Runtime": runtime,
            "Handler": handler,
            "Timeout": timeout_s,
            "Layers": ["proxy"],
            "Environment": {"Variables": VARIABLES},
        }
        if isinstance(source, str):
            files = {name.replace("__", "/") + ".py": text for name, text in files.items()}
            source = {"app.py": source} | files
        made.append(functions.Environment("mine", config, zipped(source)))
        return made[-1]

    yield make
    for environment in made:
        environment._teardown()


def invoked(environment, body="{}"):
    """The result of one message, and the records of its log."""
    attribute = {"stringValue": json.dumps(ORDER), "dataType": "String"}
    message = sqs_record(body) | {"messageAttributes": {"stampede": attribute}}
    result = environment.invoke({"Records": [message]}, "request-1")
    lines = [line for line in result["log"].splitlines() if line.startswith(functions.RECORD + ":")]
    return result, [json.loads(line) for line in lines]


SUCCEED = {
    "prints without a line's end": (
        "import sys\ndef handler(e, c):\n sys.stdout.write('{\"n\": 1}')"
    ),
    "leaves stdout replaced": (
        "import io, sys\ndef handler(e, c): sys.stdout = sys.stderr = io.StringIO()"
    ),
    "closes its stdout": "import os\nos.close(1)\ndef handler(e, c): return 'ok'",
    "replies with bytes": "def handler(e, c): return {'body': b'abc'}",
    "replies with a Decimal": (
        "from decimal import Decimal\ndef handler(e, c): return {'d': Decimal('1.10'), 1: None}"
    ),
    "has a child that prints much": (
        "import subprocess\ndef handler(e, c): subprocess.run(['seq', '20000'])"
    ),
    "begins a process anew": (
        "import multiprocessing\ndef child(end): end.send(1)\ndef handler(e, c):\n"
        " ours, its = multiprocessing.Pipe()\n"
        " multiprocessing.get_context('spawn').Process(target=child, args=(its,)).start()\n"
        " assert ours.poll(9) and ours.recv()"
    ),
    "reads the trace header": "import os\ndef handler(e, c): return os.environ['_X_AMZN_TRACE_ID']",
    "logs what ends a line elsewhere": "def handler(e, c): print('a\\u2028b\\x85c\\rd\\x0ce')",
    "prints much": "def handler(e, c): print('line\\n' * 50_000)",
    "imitates a record": "def handler(e, c): print('{\"concurrency_limit\"', end='')",
}


@pytest.mark.parametrize("source", SUCCEED.values(), ids=SUCCEED)
def test_a_handler_may_print_and_reply_as_on_lambda(function, source):
    environment = function(source)
    for _ in range(2):
        result, records = invoked(environment)
        assert result["status"] == "ok", result
        assert [(record["status"], record["seq"]) for record in records] == [("ok", 7)]
        if "2028" in source:
            assert "a\u2028b\x85c\rd\x0ce" in result["log"].splitlines()
        assert result["log"].splitlines().count("line") == source.count("50_000") * 50_000


FAIL = {
    "raises": ("def handler(e, c): raise ValueError('not 1')", "HandlerError", "ValueError: not 1"),
    "raises what can't be printed": (
        "class Odd(Exception):\n def __str__(self): return self.no\ndef handler(e, c): raise Odd",
        "HandlerExited",
        "no attribute 'no'",
    ),
    "raises with a long traceback": (
        "def handler(e, c): handler(e, c)",
        "HandlerError",
        "RecursionError",
    ),
    "exits": ("import sys\ndef handler(e, c): sys.exit(3)", "HandlerExited", "exit status 3"),
    "exits with a text": (
        "import sys\ndef handler(e, c): sys.exit('no URL')",
        "HandlerExited",
        "no URL",
    ),
    "is killed after an exception that it caught": (
        "import logging, os\ndef handler(e, c):\n try: 1 / 0\n except Exception: "
        "logging.exception('no')\n os.kill(os.getpid(), 9)",
        "HandlerExited",
        "killed",
    ),
    "is killed": (
        "import os\ndef handler(e, c): os.kill(os.getpid(), 9)",
        "HandlerExited",
        "killed",
    ),
    "replies with a set": (
        "def handler(e, c): return {1}",
        "InvalidResponse",
        "Runtime.MarshalError",
    ),
    "replies with NaN": ("def handler(e, c): return float('nan')", "InvalidResponse", "NaN"),
    "replies with too much": (
        "def handler(e, c): return 'x' * 7_000_000",
        "ResponseTooLarge",
        "6291556",
    ),
    "names the message": (
        "def handler(e, c): return {'batchItemFailures': [{'itemIdentifier': "
        "e['Records'][0]['messageId']}]}",
        "PartialFailure",
        "batchItemFailures",
    ),
    "can't be imported": ("import nosuchlib", "HandlerMissing", "No module named 'nosuchlib'"),
    "wants a module of ours": ("import gate", "HandlerMissing", "No module named 'gate'"),
    "has a syntax error": (
        "def handler(e, c) return",
        "HandlerMissing",
        "Syntax error in module 'app'",
    ),
    "isn't there": (
        "def other(e, c): ...",
        "HandlerMissing",
        "Handler 'handler' missing on module 'app'",
    ),
    "exits at import": ("import os; os._exit(4)", "HandlerMissing", "exit status 4"),
    "exits at import with a text": ("import sys; sys.exit('no URL')", "HandlerMissing", "no URL"),
    "leaves a child": (
        "import os, signal\ndef handler(e, c):\n if os.fork(): os._exit(0)\n signal.alarm(9), "
        "signal.pause()",
        "HandlerExited",
        "exit status 0",
    ),
    "takes too long": (
        "import time\ndef handler(e, c): time.sleep(9)",
        "HandlerTimedOut",
        "timeout_s",
    ),
}


def failed(environment, kind, text):
    """The result of an invocation whose one record is a failure of this kind, and says this."""
    result, records = invoked(environment)
    assert [(record["status"], record["error_type"]) for record in records] == [("error", kind)], (
        result
    )
    assert text in records[0]["error_message"]
    return result


@pytest.mark.parametrize(("source", "kind", "text"), FAIL.values(), ids=FAIL)
def test_each_failure_of_a_handler_is_a_record_of_its_kind(function, source, kind, text):
    result = failed(function(source, timeout_s=1 if "sleep" in source else 30), kind, text)
    assert (result["status"] == "ok") is (kind == "PartialFailure")  # that is the trigger's matter
    # And Lambda's own words for how the process ended.
    assert ("request-1 Task timed out after 1.00 seconds" in result["log"]) is (
        kind == "HandlerTimedOut"
    )
    if kind == "HandlerExited" and text == "killed":
        assert (
            "RequestId: request-1 Error: Runtime exited with error: signal: killed" in result["log"]
        )


def test_a_function_that_never_begins_ends_with_its_timeout(function, monkeypatch):
    for name in ("INIT_TIMEOUT_S", "EACH_S", "LOG_LINE_WAIT_S"):  # of patience
        monkeypatch.setattr(functions, name, 0.3)
    result, _ = invoked(function("print('on its way', flush=True)\nwhile True: ...", timeout_s=1))
    assert (
        "on its way" in result["log"]
        and "request-1 Task timed out after 1.00 seconds" in result["log"]
    )


IMPORTED = {
    "my-app.handler": {"my-app": "def handler(e, c): ..."},
    "1/app.handler": {"1__app": "def handler(e, c): ..."},
    "pkg.app.main": {"pkg__app": "def main(e, c): ..."},
    # The runtime has its own modules before the package is on its path, and the package's come
    # before ours.
    "own.handler": {
        "own": "import common\ndef handler(e, c): return common.x",
        "json": "boom",
        "common": "x = 1",
    },
}


@pytest.mark.parametrize("handler", IMPORTED)
def test_a_package_is_imported_as_lambda_imports_it(function, handler):
    result, [record] = invoked(function("", handler, **IMPORTED[handler]))
    assert (result["status"], record["status"]) == ("ok", "ok"), result


def test_a_function_sees_its_own_environment_and_nothing_of_the_shells(function, monkeypatch):
    for name in ("GITHUB_TOKEN", "HTTP_PROXY", "PYTHONPATH", "GOGC"):
        monkeypatch.setenv(name, "of the shell")
    source = (
        "import boto3, os, sys\ndef handler(e, c): return [dict(os.environ), sys.path, "
        "boto3.__file__, os.getcwd()]"
    )
    environment, path, boto3, folder = invoked(function(source))[0]["result"]
    assert "of the shell" not in environment.values() and "_START" not in environment
    assert (
        environment["EXPERIMENT_TAG"] == "tag"
        and environment["AWS_EXECUTION_ENV"] == "AWS_Lambda_python3.12"
    )
    assert path[0] == folder == environment["LAMBDA_TASK_ROOT"]
    assert boto3.startswith(
        str(python_runtime.interpreter().parents[1])
    ) and sys.prefix not in "".join(path)
    assert "AWS_LAMBDA_EXEC_WRAPPER" not in environment


def test_a_record_whose_line_comes_late_is_still_one_of_its_invocation():
    environment = functions.Environment("mine", {}, b"")
    # its process lives
    environment._request_id, environment._stderr_thread = "request-1", threading.current_thread()
    environment._stderr_queue = queue.Queue()
    record = '{"concurrency_limit": 1, "request_id": "request-1"}'
    environment._stderr_queue.put(record.replace("-1", "-0"))
    timer = threading.Timer(0.4, environment._stderr_queue.put, [record])
    timer.start()
    assert environment._drain_stderr_bounded().endswith(record)
    timer.join()
