"""AWS's manners, laid before the embedded AWS: what AWS refuses, or takes its time for, and MiniStack does at once.

Off by default: STAMPEDE_MANNERS=SEED turns all of them on (docs/manners.md).
"""

from __future__ import annotations

import importlib
import json
import logging
from collections.abc import Callable, Sequence

from stampede.emulator.manners.calls import call_of
from stampede.emulator.manners.dependencies import Dependencies
from stampede.emulator.manners.file_systems import FileSystems
from stampede.emulator.manners.function_states import FunctionStates
from stampede.emulator.manners.late_logs import LateLogs
from stampede.emulator.manners.manner import Answer, Call, Manner, Pace
from stampede.emulator.manners.permissions import Permissions
from stampede.emulator.manners.queues import Queues
from stampede.emulator.manners.throttling import Throttling
from stampede.emulator.manners.triggers import Triggers

ALL: tuple[type[Manner], ...] = (
    Throttling,
    Permissions,
    Dependencies,
    FunctionStates,
    LateLogs,
    Queues,
    FileSystems,
    Triggers,
)
LOG = logging.getLogger(__name__)
# What is laid before which module of MiniStack.
MODULES = {
    "ec2": "ec2",
    "iam": "iam",
    "lambda": "lambda_svc",
    "efs": "efs",
    "sqs": "sqs",
    "logs": "cloudwatch_logs",
    "s3": "s3",
    "athena": "athena",
}


def behave(seed: str, scale: float) -> None:
    """Let MiniStack of this process have AWS's manners: delays are AWS's times `scale`."""
    pace = Pace(seed, scale)
    manners = [kind(pace) for kind in ALL]
    for manner in manners:
        manner.begin()
    for service, name in MODULES.items():
        module = importlib.import_module(f"ministack.services.{name}")
        module.handle_request = mannered(service, module.handle_request, manners)


def mannered(service: str, handle: Callable, manners: Sequence[Manner]) -> Callable:
    """The handler of one of MiniStack's services, with `manners` before and after it.

    It comes after IAM, as on AWS: who may not make a call isn't told what would have become of it.
    """

    async def handle_as_aws(method: str, path: str, headers: dict, body: bytes, query: dict) -> Answer:
        call = call_of(service, method, path, headers, body, query)
        heeding = [manner for manner in manners if call and manner.heeds(call)]
        for manner in heeding:
            if (answer := manner.before(call)) is not None:
                LOG.warning("%s answered %s itself, with %s", type(manner).__name__, call.name, answer[0])
                return answer
        answer = await handle(method, path, headers, body, query)
        return _changed(call, answer, heeding) if heeding and answer[0] // 100 == 2 else answer

    return handle_as_aws


def _changed(call: Call, answer: Answer, heeding: Sequence[Manner]) -> Answer:
    """A success, as those that heed the call leave it."""
    status, headers, body = answer
    is_json = body[:1] == b"{"
    changed = before = json.loads(body) if is_json else {}
    for manner in heeding:
        changed = manner.after(call, changed)
    return answer if changed is before or not is_json else (status, headers, json.dumps(changed).encode())
