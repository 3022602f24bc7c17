"""The invocations of one sandbox: the user's handler is given the event as it came, timed, and a record is written of
how it ended. What it returns goes back as it is, and what it raises is raised again."""

import importlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.environment import Labels, read_labels, text
from common.failures import Failure
from common.measurement import Measurement
from common.outcome import Outcome
from common.record import build_record, write_record
from common.redelivery import CALL_S, hasten
from common.sqs_event import Message, read_messages
from common.start_barrier import wait_until
from common.work_order import WorkOrder, flag, parse_work_order, whole_number
from function.failures import in_response, raised
from function.watch import Watch

# How long before the function's timeout a handler that still runs is recorded as timed out.
MARGIN_S = 0.2


@dataclass(frozen=True)
class Order(WorkOrder):
    """What Stampede says of a message; `payload` is the number of the body in the file of payloads, from 0."""

    warm_up: int = 0
    payload: int = 0


@dataclass
class Invocation(Measurement):
    """One message on its way through the handler."""

    message: Message
    request_id: str
    is_first: bool
    order: Order | None = None


class Invocations:
    """One execution environment, from the import of the handler's module on."""

    def __init__(self) -> None:
        self._sandbox_id, self._is_first = os.urandom(16).hex(), True
        self._labels = Labels(**read_labels(os.environ), method=None)
        self._package, self._runtime, self._architecture = (
            text(os.environ, f"STAMPEDE_{name}") for name in ("PACKAGE", "RUNTIME", "ARCHITECTURE")
        )
        self._watch = Watch(self._late)
        began_s = time.perf_counter()
        self._handler = _imported(text(os.environ, "STAMPEDE_HANDLER"))
        self._init_s = time.perf_counter() - began_s

    def handle(self, event: Any, context: Any) -> Any:
        """Lambda's entry. What isn't an event of one SQS message is the handler's alone: nothing is recorded.

        A handler that still runs at the deadline leaves a record then: it may be its last.
        """
        try:
            [message] = read_messages(event)
        except ValueError:
            return self._handler(event, context)
        self._running = invocation = Invocation(message, context.aws_request_id, self._is_first)
        self._is_first = False
        deadline_s = time.monotonic() + context.get_remaining_time_in_millis() / 1000 - MARGIN_S
        try:
            if message.order is not None:  # nobody else's message has one
                invocation.order = parse_work_order(message.order, Order, {"warm_up": flag, "payload": whole_number})
                wait_until(invocation.order.start_at_ms, deadline_s)
            self._watch.begin(deadline_s)
            with invocation.timed():
                response = self._handler(event, context)
            failure = in_response(response, message.message_id)
        except BaseException as error:
            failure = raised(error)
            raise
        finally:
            self._watch.end()
            self._record(invocation, failure)
        return response

    def _late(self) -> None:
        late = f"still running {MARGIN_S:g} s before the function's timeout: raise timeout_s"
        self._record(self._running, Failure(late, "HandlerTimedOut"))

    def _record(self, invocation: Invocation, failure: Failure | None) -> None:
        """Write the record; a message that failed comes back after seconds."""
        message, order, is_first = invocation.message, invocation.order, invocation.is_first
        outcome = Outcome.of(invocation, len(message.body.encode()), failure)
        own_keys = {
            "warm_up": order and order.warm_up,
            "package": self._package,
            "payload": order and order.payload,
            "start": "cold" if is_first else "warm",
            "runtime": self._runtime,
            "architecture": self._architecture,
            "init_seconds": self._init_s if is_first else None,
            "peak_memory_mb": _peak_memory_mb(),
            "client_cpu_seconds": outcome.cpu_s,
            "experiment": "function",
        }
        record = build_record(
            time_key="elapsed_seconds",
            labels=self._labels,
            order=order,
            message=message,
            request_id=invocation.request_id,
            sandbox_id=self._sandbox_id,
            cold_start=int(is_first),
            outcome=outcome,
            own_keys=own_keys,
        )
        write_record(record)
        if failure is not None:
            hasten(message, CALL_S)


def _imported(name: str) -> Callable[[Any, Any], Any]:
    """The handler `module.function`; where there is none, one that says so at each invocation."""
    module, _, function = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module.replace("/", ".")), function)
    except BaseException as error:
        missing = f"{name} can't be imported: {type(error).__name__}: {error}"

    def handler(event: Any, context: Any) -> Any:
        raise Failure(missing, "HandlerMissing")

    return handler


def _peak_memory_mb() -> float | None:
    """The most memory that this process had resident, in MiB. getrusage would count that of its parent, too."""
    with Path("/proc/self/status").open(encoding="ascii") as status:
        return next((int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM:")), None)
