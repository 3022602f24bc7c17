"""How functions run on the embedded AWS: each environment is a process that speaks Lambda's runtime
API.

MiniStack serves the API and keeps the environments. A Python function runs on AWS's own client of
the API, a Node.js function on `start_node.mjs`, and a custom runtime is its own bootstrap.
MiniStack's own workers aren't used: they reply in another way.
"""

from __future__ import annotations

import http.client
import json
import os
import queue
import shlex
import signal
import time
import types
from datetime import UTC, datetime
from pathlib import Path

from ministack.core import lambda_runtime
from ministack.core.lambda_runtime import ProvidedInitTimeout, ProvidedWorker
from ministack.core.responses import get_region
from ministack.services import lambda_svc

from stampede import user_json
from stampede.emulator import python_runtime, runtime_api
from stampede.emulator.process import inherited

# How long a function's start may take. AWS allows 10 s on its own machine; here, up to the
# concurrency limit start at once.
INIT_TIMEOUT_S, EACH_S = 10.0, 2.0
# How long MiniStack waits for a function's log line after the answer. Its own 0.05 s is too short
# on a busy machine: a late line is lost with the function's process, and with it the record of a
# message. All functions here log a line for every message, so only a defect costs this wait.
LOG_LINE_WAIT_S, LOOK_S = 5.0, 0.05
# How many lines are kept of an invocation; beyond that the first are lost. MiniStack keeps 10,000.
MOST_LOG_LINES = 1_000_000
# The beginning of a record's line.
RECORD = '{"concurrency_limit"'
# How long the runtime API waits for an event before it checks whether its function has ended.
# MiniStack's own 0.1 s wakes 500 idle functions 5,000 times a second: more CPU time than the work.
EVENT_WAIT_S = 2.0
# The longest header that the runtime API accepts, in bytes. Python's client reports an error with
# up to 1 MiB of traceback in a header; Python's server accepts 65,536.
MOST_HEADER_BYTES = 2 << 20
# The longest reply that Lambda accepts, in bytes; type and text of the refusal are Lambda's.
MOST_REPLY_BYTES = 6_291_556

WHERE_AWS_IS = ("AWS_ENDPOINT_URL", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE")

# MiniStack starts a folder's `bootstrap`; this one starts the command in its environment.
LAUNCHER = """#!/bin/sh
command=$_START
unset _START
cd "$LAMBDA_TASK_ROOT" && eval "exec $command"
"""
START_NODE = Path(__file__).with_name("start_node.mjs")
# The suffix of that folder's name, after the name of the folder with the code.
LAUNCH = "-launch"


def run_as_lambda_does() -> None:
    """Have MiniStack run functions as this module describes."""
    _extract = lambda_svc._provided_runtime_code_dir

    def launch_folder(code_zip: bytes) -> str:
        folder = Path(_extract(code_zip) + LAUNCH)
        # A file that is open for writing can't be run, so no process may start meanwhile.
        with lambda_svc._provided_code_lock:
            if not (folder / "bootstrap").exists():
                folder.mkdir(exist_ok=True)
                (folder / "bootstrap").write_text(LAUNCHER)
                (folder / "bootstrap").chmod(0o755)
        return str(folder)

    lambda_svc._provided_runtime_code_dir = launch_folder
    lambda_svc._provided_worker_env = environment_of
    lambda_svc._execute_function_warm = lambda_svc._execute_function_provided_warm
    lambda_runtime._worker_class_for = lambda config: Environment
    lambda_runtime._PROVIDED_LOG_MAX_LINES = MOST_LOG_LINES
    http.client._MAXLINE = MOST_HEADER_BYTES
    lambda_runtime.queue = types.SimpleNamespace(
        Queue=_PatientQueue, Empty=queue.Empty, Full=queue.Full
    )


def environment_of(config: dict, launch_folder: str, port: int) -> dict[str, str]:
    """A function's environment variables: Lambda's, its own, and the few of this machine that any
    program needs. `port` is its runtime API's on loopback."""
    code, name = Path(launch_folder.removesuffix(LAUNCH)), config["FunctionName"]
    layers, own = _layers(config), lambda_svc._runtime_env_vars(config)
    return {
        **inherited(os.environ),
        "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{port}",
        "AWS_LAMBDA_FUNCTION_NAME": name,
        "AWS_LAMBDA_FUNCTION_VERSION": config.get("Version", "$LATEST"),
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(config.get("MemorySize", 128)),
        "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
        "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{name}",
        "AWS_LAMBDA_LOG_STREAM_NAME": (
            f"{datetime.now(UTC):%Y/%m/%d}/[$LATEST]{os.urandom(16).hex()}"
        ),
        "AWS_REGION": get_region(),
        "AWS_DEFAULT_REGION": get_region(),
        "LAMBDA_TASK_ROOT": str(code),
        "TZ": ":UTC",
        "_HANDLER": config.get("Handler", "bootstrap"),
        **own,
        **lambda_svc.execution_credentials(config),
        **{name: os.environ[name] for name in WHERE_AWS_IS},
        "AWS_EC2_METADATA_DISABLED": "true",
        **_start(config, code, layers, own),
    }


def _layers(config: dict) -> list[Path]:
    """The folders of the layers, which Lambda merges in /opt, later over earlier ones."""
    zips = [lambda_svc._resolve_layer_zip(layer) for layer in config.get("Layers", ())]
    with lambda_svc._provided_code_lock:
        return [Path(lambda_svc._docker_extracted_dir(blob, "layer")) for blob in zips if blob]


def _start(config: dict, code: Path, layers: list[Path], own: dict[str, str]) -> dict[str, str]:
    """The variables that start the function: its command line, and those of its runtime."""
    runtime = config["Runtime"]
    if runtime.startswith("provided"):
        program = _in_layers("bootstrap", layers)
        start = {"_START": shlex.quote(str(code / "bootstrap"))}
        return start | ({"STAMPEDE_BOOTSTRAP": str(program)} if program else {})
    packages = {}
    if runtime.startswith("python"):
        command = _python_command(config["Handler"], code, layers)
    elif runtime.startswith("nodejs"):
        command = ["node", START_NODE, config["Handler"]]
        packages["NODE_PATH"] = os.pathsep.join(
            str(layer / "nodejs/node_modules") for layer in reversed(layers)
        )
    else:
        why = f"{runtime} doesn't run here"
        raise lambda_runtime.ProvidedRuntimeError(why, "Runtime.InvalidEntrypoint")
    if wrapper := own.get("AWS_LAMBDA_EXEC_WRAPPER"):
        command = [_in_layers(wrapper.removeprefix("/opt/"), layers) or wrapper, *command]
    return {
        "_START": shlex.join(map(str, command)),
        "AWS_EXECUTION_ENV": f"AWS_Lambda_{runtime}",
        **packages,
    }


def _python_command(handler: str, code: Path, layers: list[Path]) -> list[str | Path]:
    """The command line of a Python handler, with the folders that it imports from."""
    folders = [code]
    for layer in reversed(layers):
        folders += [*layer.glob("python/lib/python*/site-packages"), layer / "python"]
    # -P, -B: import nothing from the current folder yet, and write nothing into it.
    return [python_runtime.interpreter(), "-P", "-B", python_runtime.START, handler, *folders]


def _in_layers(name: str, layers: list[Path]) -> Path | None:
    """A file of /opt, or None if no layer has it."""
    return next((layer / name for layer in reversed(layers) if (layer / name).is_file()), None)


class Environment(ProvidedWorker):
    """MiniStack's execution environment, with the log of Lambda and its limits on replies."""

    def _spawn(self, init_timeout: float | None = None) -> None:
        variables = self.config.get("Environment", {}).get("Variables", {})
        limit = variables.get("CONCURRENCY_LIMIT", "")
        starts = int(limit) if limit.isdecimal() else 1
        super()._spawn(init_timeout or INIT_TIMEOUT_S + EACH_S * starts)
        self._started = self._proc

    def invoke(self, event: object, request_id: str, **options: object) -> dict:
        """Run one invocation. If the process ends, the log says how, in Lambda's words."""
        self._request_id = request_id
        options["trace_id"] = options.get("trace_id") or _not_traced()
        try:
            result = super().invoke(event, request_id, **options)
            if self._ended_before(result):
                result = super().invoke(event, request_id, **options)
        except ProvidedInitTimeout as error:
            # Lambda starts it again, within the timeout of this invocation.
            text = f"Task timed out after {self.config.get('Timeout', 3)}.00 seconds"
            payload = {"errorType": "Sandbox.Timedout", "errorMessage": text}
            result = {"status": "error", "error_payload": payload, "log": str(error)}
        kind = _error_type(result)
        lines = [result.get("log") or ""]
        if kind == "Runtime.ExitError":
            status = self._started.wait()
            reason = f"exit status {status}"
            if status < 0:
                reason = f"signal: {signal.strsignal(-status).lower()}"
            error = f"Error: Runtime exited with error: {reason}"
            lines.append(f"RequestId: {request_id} {error}\n{kind}")
        elif kind == "Sandbox.Timedout":
            text = result["error_payload"]["errorMessage"]
            lines.append(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}.000Z {request_id} {text}")
        return result | {"log": _Lines("\n".join(filter(None, lines)))}

    def _ended_before(self, result: dict) -> bool:
        """Whether the process ended after earlier invocations and before it took this event, as
        Node.js does after an uncaught error: Lambda then starts another."""
        exited = _error_type(result) == "Runtime.ExitError"
        return exited and not result["cold_start"] and not self._pending.empty()

    def _drain_stderr_bounded(self, **_: float) -> str:
        """Wait for the record's line; a user's program may print other lines before it."""
        log = ""
        for _ in range(int(LOG_LINE_WAIT_S / LOOK_S)):
            may_print = self._stderr_thread.is_alive()
            more = super()._drain_stderr_bounded(first_line_wait=LOOK_S, hard_cap=LOG_LINE_WAIT_S)
            log = "\n".join(filter(None, [log, more]))
            lines = (line for line in log.split("\n") if line.startswith(RECORD))
            if not may_print or any(self._request_id in line for line in lines):
                break
        return log

    def _build_handler_class(self, generation: int, pending: queue.Queue) -> type:
        class JudgingReplies(
            runtime_api.Guarded, super()._build_handler_class(generation, pending)
        ):
            def _read_body(self) -> bytes:
                body = super()._read_body()
                refusal = refusal_of(body) if self.path.endswith("/response") else None
                if refusal is None:
                    return body
                self.path = self.path.removesuffix("/response") + "/error"
                return json.dumps(refusal).encode()

        return JudgingReplies


def _error_type(result: dict) -> str | None:
    """The type of an invocation's error; None without one, or if a program reported no object."""
    error = result.get("error_payload")
    return error.get("errorType") if isinstance(error, dict) else None


def _not_traced() -> str:
    """The trace header of an invocation that Lambda doesn't sample."""
    root = f"1-{int(time.time()):08x}-{os.urandom(12).hex()}"
    return f"Root={root};Parent={os.urandom(8).hex()};Sampled=0"


def refusal_of(reply: bytes) -> dict[str, str] | None:
    """The error with which Lambda or a queue's trigger refuses a reply; None if they accept it."""
    if len(reply) > MOST_REPLY_BYTES:
        limit = f"maximum allowed payload size ({MOST_REPLY_BYTES} bytes)"
        text = f"Response payload size exceeded {limit}."
        return {"errorType": "Function.ResponseSizeTooLarge", "errorMessage": text}
    try:
        user_json.value_of((reply or b"null").decode())
    except ValueError as error:
        text = f"the reply isn't JSON: {error}"
        return {"errorType": "Runtime.InvalidResponse", "errorMessage": text}
    return None


class _Lines(str):
    """A log whose events end with a newline alone: runtimes put carriage returns inside them."""

    def splitlines(self, keepends: bool = False) -> list[str]:
        """The events of the log."""
        return self.split("\n")


class _PatientQueue(queue.Queue):
    """A queue whose reads with a timeout wait at least EVENT_WAIT_S."""

    def get(self, block: bool = True, timeout: float | None = None) -> object:
        return super().get(block, None if timeout is None else max(timeout, EVENT_WAIT_S))
