"""Users' functions on the embedded AWS, behind the proxy that measures them: Python handlers on
AWS's own runtime client, and Node.js handlers on `start_node.mjs`. functions/transfer tests the
proxy itself."""

import io
import itertools
import json
import shutil
import stat
import sys
import zipfile

import pytest

from stampede.emulator import python_runtime
from tests.commands import ROOT
from tests.emulator.embedded_aws import allow, client, embedded_aws, make_role
from tests.unit.functions.lambda_sandbox import sqs_record
from tests.unit.functions.transfer.transfer_program import transfer_program

__all__ = ["transfer_program"]

VARIABLES = {
    "CONCURRENCY_LIMIT": "1",
    "MEMORY_SIZE": "1024",
    "EXPERIMENT_TAG": "tag",
    "EXPERIMENT": "function",
    "STAMPEDE_PACKAGE": "mine",
    "STAMPEDE_RUNTIME": "python3.12",
    "STAMPEDE_ARCHITECTURE": "x86_64",
    "AWS_LAMBDA_EXEC_WRAPPER": "/opt/bootstrap",
}
SHELL_VARIABLES = ("GITHUB_TOKEN", "PYTHONPATH", "GOGC", "NODE_OPTIONS")
ORDER = {"run_id": "run-1", "cell": "c", "seq": 7, "payload": 2}
NODE = {"runtime": "nodejs22.x"}


def zipped(files):
    """A zip of these files, all executable."""
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (stat.S_IFREG | 0o755) << 16
            archive.writestr(entry, content)
    return memory.getvalue()


class Function:
    """A function on the embedded AWS, and its log."""

    def __init__(self, functions, logs, name, **settings):
        self.functions, self.logs = functions, logs
        self.name, self.log_group = name, f"/aws/lambda/{name}"
        self.logs.create_log_group(logGroupName=self.log_group)
        variables = {"Variables": VARIABLES}
        self.functions.create_function(FunctionName=name, Environment=variables, **settings)
        waiter = self.functions.get_waiter("function_active_v2")
        waiter.wait(FunctionName=name, WaiterConfig={"Delay": 0.05})

    def invoke(self):
        """Send one message; return the reply, and whether it is an error."""
        attribute = {"stringValue": json.dumps(ORDER), "dataType": "String"}
        message = sqs_record("{}") | {"messageAttributes": {"stampede": attribute}}
        payload = json.dumps({"Records": [message]})
        answer = self.functions.invoke(FunctionName=self.name, Payload=payload)
        return json.loads(answer["Payload"].read() or "null"), "FunctionError" in answer

    def lines(self, text):
        """The log's lines with this text."""
        asked = {"logGroupName": self.log_group, "filterPattern": f'"{text}"'}
        events = self.logs.filter_log_events(**asked)["events"]
        return [event["message"].removesuffix("\n") for event in events]

    def records(self):
        """The log's records."""
        return [json.loads(line) for line in self.lines("sandbox_id")]


@pytest.fixture(scope="module")
def function(tmp_path_factory, transfer_program):
    """A function that makes a Lambda function from a handler's source or from files."""
    with pytest.MonkeyPatch.context() as shell:
        for name in SHELL_VARIABLES:
            shell.setenv(name, str(ROOT))  # only PYTHONPATH's value is used
        with embedded_aws(tmp_path_factory.mktemp("state")) as running:
            functions, logs = (client(service, running.access) for service in ("lambda", "logs"))
            numbers = itertools.count()
            role = make_role(client("iam", running.access), "mine", allow("logs:*", "*"))
            proxy = {"ZipFile": zipped({"bootstrap": transfer_program.read_bytes()})}
            layer = functions.publish_layer_version(LayerName="proxy", Content=proxy)

            def make(files, runtime="python3.12", handler="app.handler", timeout_s=30):
                name = "app.py" if runtime.startswith("python") else "app.js"
                code = zipped({name: files} if isinstance(files, str) else files)
                settings = {"Runtime": runtime, "Handler": handler, "Timeout": timeout_s}
                settings |= {"Role": role, "Layers": [layer["LayerVersionArn"]]}
                settings |= {"Code": {"ZipFile": code}}
                return Function(functions, logs, f"f{next(numbers)}", **settings)

            yield make


BUSY = r"""
import multiprocessing, os, subprocess
def child(end): end.send(1)
def handler(e, c):
    ours, its = multiprocessing.Pipe()
    multiprocessing.get_context("spawn").Process(target=child, args=(its,)).start()
    assert ours.poll(9) and ours.recv()
    subprocess.run(["seq", "20000"])
    print("first\n" + "line\n" * 20_000 + "last\u2028b\x85c\rd\x0ce")
    print('{"concurrency_limit"', end="")
    return os.environ["_X_AMZN_TRACE_ID"]
"""


def test_a_handler_may_print_much_and_odd_text_and_start_children(function):
    busy = function(BUSY)
    for number in (1, 2):
        reply, is_error = busy.invoke()
        assert reply.startswith("Root=1-") and not is_error
        assert [(row["status"], row["seq"]) for row in busy.records()] == [("ok", 7)] * number
        assert busy.lines("first") == ["first"] * number
        assert busy.lines("20000") == ["20000"] * number
        assert busy.lines("last") == ["last\u2028b\x85c\rd\x0ce"] * number


FAIL = {
    "raises with a long traceback": (
        "def handler(e, c): handler(e, c)",
        "HandlerError",
        "RecursionError",
    ),
    "exits": ("import sys\ndef handler(e, c): sys.exit(3)", "HandlerExited", "exit status 3"),
    "is killed": (
        "import os\ndef handler(e, c): os.kill(os.getpid(), 9)",
        "HandlerExited",
        "signal: killed",
    ),
    "leaves a child": (
        "import os, signal\ndef handler(e, c):\n if os.fork(): os._exit(0)\n signal.alarm(9), "
        "signal.pause()",
        "HandlerExited",
        "exit status 0",
    ),
    "replies with NaN": ("def handler(e, c): return float('nan')", "InvalidResponse", "NaN"),
    "replies with too much": (
        "def handler(e, c): return 'x' * 7_000_000",
        "ResponseTooLarge",
        "6291556",
    ),
    "imports a module of Stampede": ("import gate", "HandlerMissing", "No module named 'gate'"),
    "exits at its import": ("import os; os._exit(4)", "HandlerMissing", "exit status 4"),
    "takes too long": (
        "import time\ndef handler(e, c): time.sleep(9)",
        "HandlerTimedOut",
        "timeout_s",
    ),
}


def refuse_another_end(function, kind, text, times=1):
    """Expect its invocations to fail with records of this kind and text; return the last reply."""
    replies = [function.invoke() for _ in range(times)]
    assert all(is_error for _, is_error in replies)
    records = function.records()
    ends = [(row["status"], row["error_type"]) for row in records]
    assert ends == [("error", kind)] * times and text in records[-1]["error_message"]
    return replies[-1][0]


@pytest.mark.parametrize(("source", "kind", "text"), FAIL.values(), ids=FAIL)
def test_each_failure_of_a_handler_is_a_record_of_its_kind(function, source, kind, text):
    failing = function(source, timeout_s=1 if kind == "HandlerTimedOut" else 30)
    reply = refuse_another_end(failing, kind, text)
    assert kind != "HandlerError" or reply["errorType"] == text
    # The log has Lambda's words for the end of a process.
    timed_out = failing.lines("Task timed out after 1.00 seconds")
    assert bool(timed_out) is (kind == "HandlerTimedOut")
    exited = failing.lines(f"Error: Runtime exited with error: {text}")
    assert bool(exited) is (kind == "HandlerExited")


def test_a_function_has_its_own_environment_first_and_none_of_the_shells_variables(function):
    values = "[dict(os.environ), sys.path, boto3.__file__, os.getcwd(), common.x]"
    source = f"import boto3, common, os, sys\ndef handler(e, c): return {values}"
    # The runtime's own modules come before the package's, and the package's before Stampede's.
    files = {"pkg/own.py": source, "json.py": "boom", "common.py": "x = 1"}
    (environment, path, boto3, folder, x), _ = function(files, handler="pkg/own.handler").invoke()
    assert not {*SHELL_VARIABLES, "_START", "AWS_LAMBDA_EXEC_WRAPPER"} & environment.keys()
    assert environment["EXPERIMENT_TAG"] == "tag"
    assert environment["AWS_EXECUTION_ENV"] == "AWS_Lambda_python3.12"
    assert path[0] == folder == environment["LAMBDA_TASK_ROOT"] and x == 1
    assert boto3.startswith(str(python_runtime.interpreter().parents[1]))
    assert sys.prefix not in "".join(path)


needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="`node` isn't installed")
ES_MODULE = {
    "app.js": "import os from 'node:os'; export const handler = async () => os.EOL",
    "package.json": json.dumps({"type": "module"}),
}
CALLING_BACK = "exports.handler = (e, c, back) => "
NO_WAIT = "callbackWaitsForEmptyEventLoop = false"
SUCCEED = {
    "is CommonJS": ("exports.handler = async (event) => event.Records.length", 1),
    "is an ES module": ({"app.mjs": ES_MODULE["app.js"]}, "\n"),
    "is one by its package": (ES_MODULE, "\n"),
    "exports a default": ({"app.mjs": "export default { handler: async () => 4 }"}, 4),
    "comes from a package": ({"node_modules/app/index.js": "exports.handler = async () => 5"}, 5),
    "replies with nothing": (
        "exports.handler = async () => process.stdout.write('x') && {}.x",
        None,
    ),
    "sees its context": (
        "exports.handler = async (e, c) => [c.memoryLimitInMB, c.getRemainingTimeInMillis() > 0]",
        ["128", True],
    ),
    "goes on afterwards": (
        CALLING_BACK + "{ const r = []; setTimeout(() => r.push(8), 50); back(null, r) }",
        [8],
    ),
    "doesn't wait": (
        f"{CALLING_BACK}{{ c.{NO_WAIT}; setTimeout(() => {{}}, 60_000); back(null, 9) }}",
        9,
    ),
    "returns no promise": ("exports.handler = () => 10", None),
}


@needs_node
@pytest.mark.parametrize(("files", "reply"), SUCCEED.values(), ids=SUCCEED)
def test_a_node_handler_is_called_as_on_lambda(function, files, reply):
    handler = function(files, **NODE)
    for number in (1, 2):
        assert handler.invoke() == (reply, False)
        assert [(row["status"], row["seq"]) for row in handler.records()] == [("ok", 7)] * number


FAIL_IN_NODE = {
    "throws": (
        "exports.handler = async () => { throw new RangeError('not 1') }",
        "HandlerError",
        "RangeError: not 1",
    ),
    "throws a text": (
        "exports.handler = async () => { throw 'a text' }",
        "HandlerError",
        "string: a text",
    ),
    "throws a type that is no valid header": (
        "exports.handler = async () => { throw Object.assign(new Error('x'), {name: 'a\\nb ü'}) }",
        "HandlerError",
        "a b ü: x",
    ),
    "calls back with an error": (CALLING_BACK + "back(new Error('no'))", "HandlerError", "no"),
    "throws later": (
        "exports.handler = () => new Promise(() => setTimeout(() => { throw new Error('later') }, "
        "10))",
        "HandlerError",
        "Error: later",
    ),
    "leaves a rejection": (
        "exports.handler = () => new Promise(() => { Promise.reject(new Error('left')) })",
        "HandlerError",
        "Runtime.UnhandledPromiseRejection: Error: left",
    ),
    "never settles": (
        "exports.handler = async () => new Promise(() => {})",
        "HandlerError",
        "Runtime.NodeJsExit",
    ),
    "replies with what isn't JSON": ("exports.handler = async () => 1n", "HandlerError", "BigInt"),
    "can't be imported": (
        "require('nosuchlib')",
        "HandlerMissing",
        "Runtime.ImportModuleError: Error: Cannot find module",
    ),
    "lacks an ES module": (
        {"app.mjs": "import 'nosuchlib'"},
        "HandlerMissing",
        "Runtime.ImportModuleError: Error [ERR_MODULE_NOT_FOUND]",
    ),
    "has a syntax error": (
        "exports.handler = async () => {",
        "HandlerMissing",
        "Runtime.UserCodeSyntaxError",
    ),
    "isn't there": ("exports.other = 1", "HandlerMissing", "Runtime.HandlerNotFound: app.handler"),
}


@needs_node
@pytest.mark.parametrize(("files", "kind", "text"), FAIL_IN_NODE.values(), ids=FAIL_IN_NODE)
def test_each_failure_of_a_node_handler_is_a_record_of_its_kind(function, files, kind, text):
    failing = function(files, **NODE)
    refuse_another_end(failing, kind, text, times=2)  # an ended process is restarted


@needs_node
def test_node_24_accepts_a_returned_reply_and_refuses_a_callback(function):
    node_24 = {"runtime": "nodejs24.x"}
    assert function("exports.handler = (e, c) => 1", **node_24).invoke() == (1, False)
    refused = function(CALLING_BACK + "back(null, 1)", **node_24)
    refuse_another_end(refused, "HandlerMissing", "CallbackHandlerDeprecated")


@needs_node
def test_a_node_function_has_its_own_environment_and_the_packages_of_layers(function):
    source = "exports.handler = async () => [process.env, process.cwd()]"
    (environment, folder), _ = function(source, **NODE).invoke()
    assert environment["LAMBDA_TASK_ROOT"] == folder
    assert environment["AWS_EXECUTION_ENV"] == "AWS_Lambda_nodejs22.x"
    assert environment["NODE_PATH"].endswith("nodejs/node_modules")
    assert environment["_X_AMZN_TRACE_ID"].startswith("Root=")
    assert not {"NODE_OPTIONS", "AWS_LAMBDA_EXEC_WRAPPER"} & environment.keys()
