"""How functions run on the embedded AWS: each environment is a process that speaks Lambda's runtime
API.

A Python function runs on AWS's own client of that API, as on AWS; one of Node.js on a client of
ours, beside this file; a custom runtime is its own bootstrap. MiniStack serves the API and keeps
the environments; its own workers aren't used, since they reply another way.
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

from stampede.emulator import python_runtime, runtime_api
from stampede.emulator.process import inherited

# How long a function may take to begin. AWS gives it 10 s on a machine of its own; here as many
# begin at once as may run.
INIT_TIMEOUT_S, EACH_S = 10.0, 2.0
# How long MiniStack waits for a function's log line once the function has answered. Its own 0.05 s
# are too short on a busy machine: a line that comes later is lost with the function's process, and
# with it the record of a message. All our functions log a line for every message, so only one that
# has a defect waits this long for nothing.
LOG_LINE_WAIT_S, LOOK_S = 5.0, 0.05
# How many lines of an invocation are kept until it has ended. Of more, the first are lost;
# MiniStack keeps 10,000.
MOST_LOG_LINES = 1_000_000
# How the line of a record begins.
RECORD = '{"concurrency_limit"'
# How long the runtime API waits for an event before it looks whether its function has ended.
# MiniStack's own 0.1 s wake 500 idle functions 5,000 times a second, which takes more of a
# processor than the work.
EVENT_WAIT_S = 2.0
# The longest header that the runtime API takes, in bytes. Python's client sends up to 1 MiB of
# traceback in one, which Python's server (65,536) refuses, and with it the error.
MOST_HEADER_BYTES = 2 << 20
# The most that Lambda takes as a reply, in bytes; the type and text of its refusal are Lambda's.
MOST_REPLY_BYTES = 6_291_556

WHERE_AWS_IS = ("AWS_ENDPOINT_URL", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE")

# MiniStack starts the file `bootstrap` of a folder. Ours starts the command that the function's
# environment names.
LAUNCHER = """#!/bin/sh
command=$_START
unset _START
cd "$LAMBDA_TASK_ROOT" && eval "exec $command"
"""
START_NODE = Path(__file__).with_name("start_node.mjs")
# the ending of that folder's name, which is otherwise that of the folder with the code
LAUNCH = "-launch"


def run_as_lambda_does() -> None:
    """Let MiniStack in this process run its functions so."""
    _extract = lambda_svc._provided_runtime_code_dir

    def launch_folder(code_zip: bytes) -> str:
        folder = Path(_extract(code_zip) + LAUNCH)
        # no process may begin while the file is open: it couldn't be run
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
    """The environment variables of a function: Lambda's and its own, and of this machine's the few
    that any program needs. `port` is that of its runtime API on loopback."""
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
    """Where the function's layers are unpacked: Lambda merges them in /opt, the last ones over the
    first ones."""
    zips = [lambda_svc._resolve_layer_zip(layer) for layer in config.get("Layers", ())]
    with lambda_svc._provided_code_lock:
        return [Path(lambda_svc._docker_extracted_dir(blob, "layer")) for blob in zips if blob]


def _start(config: dict, code: Path, layers: list[Path], own: dict[str, str]) -> dict[str, str]:
    """What says how the function begins: its command line, and what comes with its runtime."""
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
        raise lambda_runtime.ProvidedRuntimeError(
            f"{runtime} doesn't run here", "Runtime.InvalidEntrypoint"
        )
    if wrapper := own.get("AWS_LAMBDA_EXEC_WRAPPER"):
        command = [_in_layers(wrapper.removeprefix("/opt/"), layers) or wrapper, *command]
    return {
        "_START": shlex.join(map(str, command)),
        "AWS_EXECUTION_ENV": f"AWS_Lambda_{runtime}",
        **packages,
    }


def _python_command(handler: str, code: Path, layers: list[Path]) -> list[str | Path]:
    """The command line of a handler in Python, with the folders that it imports from."""
    folders = [code]
    for layer in reversed(layers):
        folders += [*layer.glob("python/lib/python*/site-packages"), layer / "python"]
    # -P, -B: nothing from the current folder yet, and nothing written into it.
    return [python_runtime.interpreter(), "-P", "-B", python_runtime.START, handler, *folders]


def _in_layers(name: str, layers: list[Path]) -> Path | None:
    """A file of /opt, where a layer has it."""
    return next((layer / name for layer in reversed(layers) if (layer / name).is_file()), None)


class Environment(ProvidedWorker):
    """An execution environment: MiniStack's, with the log that Lambda writes, and the replies that
    Lambda takes."""

    def _spawn(self, init_timeout: float | None = None) -> None:
        at_once = (
            self.config.get("Environment", {}).get("Variables", {}).get("CONCURRENCY_LIMIT", "")
        )
        super()._spawn(
            init_timeout or INIT_TIMEOUT_S + EACH_S * (int(at_once) if at_once.isdecimal() else 1)
        )
        self._started = self._proc

    def invoke(self, event: object, request_id: str, **options: object) -> dict:
        """Run one invocation. Its log says how the process ended where it did, in Lambda's
        words."""
        self._request_id = request_id
        options["trace_id"] = options.get("trace_id") or _not_traced()
        try:
            result = super().invoke(event, request_id, **options)
            if self._ended_before(result):
                result = super().invoke(event, request_id, **options)
        except (
            ProvidedInitTimeout
        ) as never:  # Lambda has begun it again, in the time of this invocation
            text = f"Task timed out after {self.config.get('Timeout', 3)}.00 seconds"
            payload = {"errorType": "Sandbox.Timedout", "errorMessage": text}
            result = {"status": "error", "error_payload": payload, "log": str(never)}
        kind = _error_type(result)
        lines = [result.get("log") or ""]
        if kind == "Runtime.ExitError":
            code = self._started.wait()
            reason = (
                f"signal: {signal.strsignal(-code).lower()}" if code < 0 else f"exit status {code}"
            )
            lines.append(
                f"RequestId: {request_id} Error: Runtime exited with error: {reason}\n{kind}"
            )
        elif kind == "Sandbox.Timedout":
            text = result["error_payload"]["errorMessage"]
            lines.append(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}.000Z {request_id} {text}")
        return result | {"log": _Lines("\n".join(filter(None, lines)))}

    def _ended_before(self, result: dict) -> bool:
        """Whether the process of earlier invocations ended before it took this one's event, as
        Node.js does after an error that nobody caught: Lambda then begins another."""
        exited = _error_type(result) == "Runtime.ExitError"
        return exited and not result["cold_start"] and not self._pending.empty()

    def _drain_stderr_bounded(self, **_: float) -> str:
        """Wait for the line of the record, before which a user's program may print others."""
        log = ""
        for _ in range(int(LOG_LINE_WAIT_S / LOOK_S)):
            may_print = self._stderr_thread.is_alive()
            more = super()._drain_stderr_bounded(first_line_wait=LOOK_S, hard_cap=LOG_LINE_WAIT_S)
            log = "\n".join(filter(None, [log, more]))
            if self._has_record(log) or not may_print:
                break
        return log

    def _has_record(self, log: str) -> bool:
        return any(line.startswith(RECORD) and self._request_id in line for line in log.split("\n"))

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
    """The type of the error that an invocation ended with; None without one, or where a program
    reported no object."""
    error = result.get("error_payload")
    return error.get("errorType") if isinstance(error, dict) else None


def _not_traced() -> str:
    """The trace header that Lambda gives to each invocation, of one that isn't traced."""
    root = f"1-{int(time.time()):08x}-{os.urandom(12).hex()}"
    return f"Root={root};Parent={os.urandom(8).hex()};Sampled=0"


def refusal_of(reply: bytes) -> dict[str, str] | None:
    """The error that a reply is to Lambda or to the trigger of a queue; None for one that they
    take."""
    if len(reply) > MOST_REPLY_BYTES:
        text = (
            f"Response payload size exceeded maximum allowed payload size ({MOST_REPLY_BYTES} "
            "bytes)."
        )
        return {"errorType": "Function.ResponseSizeTooLarge", "errorMessage": text}
    try:
        json.loads(reply or b"null", parse_constant=_refuse)
    except ValueError as error:
        return {
            "errorType": "Runtime.InvalidResponse",
            "errorMessage": f"the reply isn't JSON: {error}",
        }
    return None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} isn't JSON")


class _Lines(str):
    """A log, whose events end with a line's end alone: a runtime puts carriage returns inside of
    one."""

    def splitlines(self, keepends: bool = False) -> list[str]:
        """The events of the log."""
        return self.split("\n")


class _PatientQueue(queue.Queue):
    """A queue whose readers wait EVENT_WAIT_S at least where they name a time."""

    def get(self, block: bool = True, timeout: float | None = None) -> object:
        return super().get(block, None if timeout is None else max(timeout, EVENT_WAIT_S))
