"""The invocations of one sandbox: the user's handler is given the event as it came, timed, and a record is written of
how it ended. What it returns goes back as it is, and what it raises is raised again."""

import importlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from typing import Any

from common.environment import Labels, read_labels, text
from common.failures import Failure
from common.outcome import Outcome
from common.record import build_record, write_record
from common.redelivery import CALL_S, hasten
from common.sqs_event import Message, read_messages
from common.start_barrier import wait_until
from common.work_order import WorkOrder, flag, parse_work_order, whole_number
from function.failures import HandlerMissing, HandlerTimedOut, in_response, raised
from function.watch import Watch

# The message attribute with what Stampede says; the body is the user's own.
ATTRIBUTE = "stampede"
# How long before the function's timeout a handler that still runs is recorded as timed out.
MARGIN_S = 0.2


@dataclass(frozen=True)
class Order(WorkOrder):
    """What the attribute says; `payload` is the number of the body in the file of payloads, from 0."""

    warm_up: int = 0
    payload: int = 0


class Invocation:
    """One message on its way through the handler, with its clocks."""

    def __init__(self, message: Message, request_id: str, is_first: bool) -> None:
        self.message, self.request_id, self.is_first = message, request_id, is_first
        self.order: Order | None = None
        self.begin()

    def begin(self) -> None:
        """Start the clocks: here the handler's own time begins."""
        self.started_at_ms, self._cpu_s, self._s = time.time_ns() // 1_000_000, _cpu_s(), time.perf_counter()

    def outcome(self, failure: Failure | None) -> Outcome:
        """How it has gone until now."""
        elapsed_s, cpu_s = time.perf_counter() - self._s, _cpu_s() - self._cpu_s
        body_bytes = len(self.message.body.encode())
        return Outcome(self.started_at_ms, elapsed_s, body_bytes, failure, cpu_s=cpu_s)


class Invocations:
    """One execution environment, from the import of the handler's module on."""

    def __init__(self) -> None:
        environ = os.environ
        self._sandbox_id, self._is_first = os.urandom(16).hex(), True
        self._labels = Labels(**read_labels(environ), method=None)
        self._package, self._runtime, self._architecture = (
            text(environ, f"STAMPEDE_{name}") for name in ("PACKAGE", "RUNTIME", "ARCHITECTURE")
        )
        self._watch = Watch(self._late)
        began_s = time.perf_counter()
        self._handler = _imported(text(environ, "STAMPEDE_HANDLER"))
        self._init_s = time.perf_counter() - began_s

    def handle(self, event: Any, context: Any) -> Any:
        """Lambda's entry. What isn't an event of one SQS message is the handler's alone: nothing is recorded."""
        try:
            [message] = read_messages(event)
        except ValueError:
            return self._handler(event, context)
        invocation = Invocation(message, context.aws_request_id, self._is_first)
        self._is_first = False
        deadline_s = time.monotonic() + context.get_remaining_time_in_millis() / 1000 - MARGIN_S
        try:
            invocation.order = _order(event)
            if invocation.order is not None:
                wait_until(invocation.order.start_at_ms, deadline_s)
            response = self._timed(invocation, event, context, deadline_s)
        except BaseException as error:
            self._end(invocation, raised(error))
            raise
        self._end(invocation, in_response(response, message.message_id))
        return response

    def _timed(self, invocation: Invocation, event: Any, context: Any, deadline_s: float) -> Any:
        """The handler's response. One that still runs at the deadline leaves a record then: it may be its last."""
        self._running = invocation
        self._watch.begin(deadline_s)
        try:
            invocation.begin()
            return self._handler(event, context)
        finally:
            self._watch.end()

    def _late(self) -> None:
        late = HandlerTimedOut(f"still running {MARGIN_S:g} s before the function's timeout: raise timeout_s")
        self._end(self._running, late)

    def _end(self, invocation: Invocation, failure: Failure | None) -> None:
        """Write the record; a message that failed comes back after seconds."""
        outcome, order = invocation.outcome(failure), invocation.order
        own_keys = {
            "warm_up": order.warm_up if order else None,
            "package": self._package,
            "payload": order.payload if order else None,
            "start": "cold" if invocation.is_first else "warm",
            "runtime": self._runtime,
            "architecture": self._architecture,
            "init_seconds": self._init_s if invocation.is_first else None,
            "peak_memory_mb": _peak_memory_mb(),
            "client_cpu_seconds": outcome.cpu_s,
            "experiment": "function",
        }
        record = build_record(
            time_key="elapsed_seconds",
            labels=self._labels,
            order=order,
            message=invocation.message,
            request_id=invocation.request_id,
            sandbox_id=self._sandbox_id,
            cold_start=int(invocation.is_first),
            outcome=outcome,
            own_keys=own_keys,
        )
        write_record(record)
        if failure is not None:
            hasten(invocation.message, CALL_S)


def _order(event: Any) -> Order | None:
    """What the message attribute says; None for a message that somebody else sent. Raises WorkOrderError."""
    attributes = event["Records"][0].get("messageAttributes") or {}
    if ATTRIBUTE not in attributes:
        return None
    said = str(attributes[ATTRIBUTE].get("stringValue"))
    return parse_work_order(said, Order, {"warm_up": flag, "payload": whole_number})


def _imported(name: str) -> Callable[[Any, Any], Any]:
    """The handler `module.function`; where there is none, one that says so at each invocation."""
    module, _, function = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module.replace("/", ".")), function)
    except BaseException as error:
        missing = HandlerMissing(f"{name} can't be imported: {type(error).__name__}: {error}")

    def handler(event: Any, context: Any) -> Any:
        raise missing

    return handler


def _cpu_s() -> float:
    """CPU seconds of this process and of those that it has started and waited for."""
    uses = (getrusage(RUSAGE_SELF), getrusage(RUSAGE_CHILDREN))
    return sum(use.ru_utime + use.ru_stime for use in uses)


def _peak_memory_mb() -> float | None:
    """The most memory that this process had resident, in MiB. getrusage would count that of its parent, too."""
    with Path("/proc/self/status").open(encoding="ascii") as status:
        return next((int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM:")), None)
