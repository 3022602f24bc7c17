"""Handlers of Node.js on the embedded AWS: called and reported as AWS's runtime client does, behind
the same proxy."""

import json
import shutil

import pytest

from tests.unit.emulator.test_functions import failed, function, invoked
from tests.unit.functions.transfer.transfer_program import transfer_program

__all__ = ["function", "transfer_program"]

pytestmark = pytest.mark.skipif(
    shutil.which("node") is None, reason="there is no `node` on the PATH"
)

MODULE = json.dumps({"type": "module"})
ES_MODULE = {"app.js": "export const handler = async () => 2", "package.json": MODULE}
CALLING_BACK = "exports.handler = (e, c, back) => "
SUCCEED = {
    "is CommonJS": ("exports.handler = async (event) => event.Records.length", 1),
    "is an ES module": (
        {"app.mjs": "import os from 'node:os'; export const handler = async () => os.EOL"},
        "\n",
    ),
    "is one by its package": (ES_MODULE, 2),
    "is CommonJS in such a package": (
        {"app.cjs": "exports.handler = async () => 3", "package.json": MODULE},
        3,
    ),
    "exports a default": ({"app.mjs": "export default { handler: async () => 4 }"}, 4),
    "comes from a package": ({"node_modules/app/index.js": "exports.handler = async () => 5"}, 5),
    "waits at its import": (
        {"app.mjs": "const x = await Promise.resolve(6); export const handler = async () => x"},
        6,
    ),
    "replies with nothing": ("exports.handler = async () => {}", None),
    "prints": ("exports.handler = async () => { process.stdout.write('half a line') }", None),
    "sees its context": (
        "exports.handler = async (e, c) => [c.awsRequestId, c.memoryLimitInMB]",
        ["request-1", "128"],
    ),
    "has a limit": ("exports.handler = async (e, c) => c.getRemainingTimeInMillis() > 9000", True),
    "calls back": (CALLING_BACK + "setTimeout(back, 10, null, 7)", 7),
    "goes on": (
        CALLING_BACK + "{ const r = []; setTimeout(() => r.push(8), 50); back(null, r) }",
        [8],
    ),
    "isn't waited for": (
        CALLING_BACK
        + (
            "{ c.callbackWaitsForEmptyEventLoop = false; setTimeout(() => {}, 60_000); back(null, "
            "9) }"
        ),
        9,
    ),
    "returns what doesn't count": ("exports.handler = () => 10", None),
}


@pytest.mark.parametrize(("files", "reply"), SUCCEED.values(), ids=SUCCEED)
def test_a_handler_of_node_is_called_as_on_lambda(function, files, reply):
    environment = function(
        {"app.js": files} if isinstance(files, str) else files, runtime="nodejs22.x"
    )
    for _ in range(2):
        result, records = invoked(environment)
        assert (result["status"], result.get("result")) == ("ok", reply), result
        assert [(record["status"], record["seq"]) for record in records] == [("ok", 7)]


# What the proxy before a function decides, whatever the runtime is, is shown of Python.
FAIL = {
    "throws": (
        "exports.handler = async () => { throw new RangeError('not 1') }",
        "HandlerError",
        "RangeError: not 1",
    ),
    "throws before it waits": (
        "exports.handler = () => { throw new TypeError('no') }",
        "HandlerError",
        "TypeError: no",
    ),
    "throws a text": (
        "exports.handler = async () => { throw 'a text' }",
        "HandlerError",
        "string: a text",
    ),
    "throws a type that no header takes": (
        "exports.handler = async () => { throw Object.assign(new Error('x'), {name: 'a\\nb ü'}) }",
        "HandlerError",
        "a b ü: x",
    ),
    "calls back with an error": (
        "exports.handler = (e, c, back) => back(new Error('no'))",
        "HandlerError",
        "Error: no",
    ),
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
    "exits": ("exports.handler = async () => process.exit(3)", "HandlerExited", "exit status 3"),
    "can't be imported": (
        "require('nosuchlib')",
        "HandlerMissing",
        "Runtime.ImportModuleError: Error: Cannot find module",
    ),
    "has a syntax error": (
        "exports.handler = async () => {",
        "HandlerMissing",
        "Runtime.UserCodeSyntaxError",
    ),
    "throws at its import": ("throw new Error('no URL')", "HandlerMissing", "Error: no URL"),
    "exits at its import": ("process.exit(4)", "HandlerMissing", "exit status 4"),
    "isn't there": ("exports.other = 1", "HandlerMissing", "Runtime.HandlerNotFound: app.handler"),
}


@pytest.mark.parametrize(("source", "kind", "text"), FAIL.values(), ids=FAIL)
def test_each_failure_of_a_handler_of_node_is_a_record_of_its_kind(function, source, kind, text):
    environment = function({"app.js": source}, runtime="nodejs22.x")
    for _ in range(2):  # what ended is begun again
        assert failed(environment, kind, text)["status"] == "error"


def test_an_es_module_says_what_it_lacks(function):
    environment = function({"app.mjs": "import 'nosuchlib'"}, runtime="nodejs22.x")
    failed(environment, "HandlerMissing", "Cannot find package 'nosuchlib'")


@pytest.mark.parametrize(
    ("source", "status"),
    [
        ("exports.handler = (e, c) => 1", "ok"),
        ("exports.handler = (e, c, callback) => callback(null, 1)", "error"),
    ],
)
def test_from_node_24_on_a_reply_may_be_returned_and_a_callback_is_refused(
    function, source, status
):
    result, [record] = invoked(function({"app.js": source}, runtime="nodejs24.x"))
    assert record["status"] == status and (status == "error" or result["result"] == 1)
    assert status == "ok" or "CallbackHandlerDeprecated" in record["error_message"]


def test_a_function_of_node_sees_its_own_environment_and_a_layers_packages(function, monkeypatch):
    monkeypatch.setenv("NODE_OPTIONS", "--of-the-shell")
    source = "exports.handler = async () => [process.env, process.cwd()]"
    environment, folder = invoked(function({"app.js": source}, runtime="nodejs22.x"))[0]["result"]
    assert (
        environment["LAMBDA_TASK_ROOT"] == folder
        and environment["AWS_EXECUTION_ENV"] == "AWS_Lambda_nodejs22.x"
    )
    assert environment["NODE_PATH"].endswith("nodejs/node_modules") and environment[
        "_X_AMZN_TRACE_ID"
    ].startswith("Root=")
    assert "NODE_OPTIONS" not in environment and "AWS_LAMBDA_EXEC_WRAPPER" not in environment
