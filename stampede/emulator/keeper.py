"""The process that holds MiniStack, at a port that its parent has bound: `keeper SOCKET
[--follow-parent]`.

With --follow-parent it ends when the parent is gone, which keeps the write end of its standard
input open and never writes; the operating system closes it however the parent ends, kill -9
included. That is why this is a process and not an exit hook.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import sys
import threading

import h11
from hypercorn.config import Config, Sockets
from hypercorn.events import RawData
from hypercorn.protocol.h11 import H11Protocol
from ministack.core import router
from ministack.services import lambda_svc, s3, sqs

from stampede.emulator import athena, functions

# Connections that wait to be accepted. With the 100 of MiniStack's server, 500 functions that begin
# at once are turned away for as long as a connection may take, several times over (the system's own
# limit, net.core.somaxconn, stays).
BACKLOG = 2048
# What is larger isn't copied once more to put the head before it: objects, whose requests have no
# body and are safe.
MOST_JOINED_BYTES = 64 * 1024


def _end_with_parent() -> None:
    os.read(0, 1)  # unbuffered: returns only at end of file
    os.killpg(os.getpgrp(), signal.SIGKILL)


def keep_connections_waiting() -> None:
    """Let the server of MiniStack in this process hold BACKLOG connections that it hasn't come to
    yet."""
    Config.backlog = BACKLOG


def listen_at(bound: socket.socket) -> None:
    """Let the server of MiniStack in this process take this socket, and make none: its port can't
    be a stranger's."""
    bound.setblocking(False)
    Config.create_sockets = lambda _: Sockets([], [bound], [])


def take_queues_in_any_order() -> None:
    """Let SQS of MiniStack in this process take a redrive policy whose queue is only made at the
    same moment, as it is with stampede/emulator/local_override/modules/queue."""
    validate = sqs._validate_redrive_policy

    def validate_but_the_queue(policy: str) -> None:
        try:
            validate(policy)
        except sqs._Err:
            arn = re.search(r'"deadLetterTargetArn": ?"(arn:[^"]+)"', policy)
            if arn is None or sqs._queue_by_arn(arn[1]) is not None:
                raise

    sqs._validate_redrive_policy = validate_but_the_queue


def write_answers_in_one_piece() -> None:
    """Let the server of MiniStack in this process write the head of an answer together with what
    follows it.

    The SDK for Go closes a request's body when the head of an answer comes; where net/http reads
    that body's end only then, it closes the connection, and the SDK repeats a call that was carried
    out: a second network that nobody destroys, or a 409, as MiniStack knows no ClientToken (61 of
    78,821 calls; none of 39,607 answered in one piece). ASGI lets the head wait for the first piece
    of the body.
    """

    async def send_with_the_head(self: H11Protocol, event: object) -> None:
        try:
            data = self.connection.send(event)
        except h11.LocalProtocolError:
            if self.connection.their_state != h11.ERROR:
                raise
            return
        if isinstance(event, h11.Response):
            self.head = data
            return
        pieces = [self.head + data] if len(data) <= MOST_JOINED_BYTES else [self.head, data]
        self.head = b""
        for piece in filter(None, pieces):
            await self.send(RawData(data=piece))

    H11Protocol.head = b""
    H11Protocol._send_h11_event = send_with_the_head


def copy_on_condition() -> None:
    """Let S3 of MiniStack in this process heed If-None-Match of a CopyObject, as AWS's does since
    October 2025.

    By itself it heeds that of a PutObject only, and a slice that is delivered again would be copied
    again.
    """
    copy = s3._copy_object

    def copy_or_refuse(bucket_name: str, key: str, headers: dict) -> tuple:
        objects = (s3._ensure_bucket(bucket_name) or {}).get("objects", {})
        return s3._check_put_preconditions(headers, objects.get(key)) or copy(
            bucket_name, key, headers
        )

    s3._copy_object = copy_or_refuse


def fail_a_batch_whose_answer_names_no_message() -> None:
    """Let the trigger of MiniStack in this process take an answer that names a failure by another
    key, or by an id that isn't in the batch, for a failure of the whole batch, which then comes
    back: as AWS does (recorded: aws_answers x-53). By itself it deletes the messages, so that a
    function with such a defect would seem to work; and it never deletes those whose answer has null
    for the list, which is a success too (Lambda guide, "Implementing partial batch responses") and
    what the official type for Go becomes.
    """
    execute = lambda_svc._execute_function

    def execute_for_the_trigger(func: dict, event: dict) -> dict:
        result = execute(func, event)
        records = event.get("Records") or () if isinstance(event, dict) else ()
        messages = [
            row for row in records if isinstance(row, dict) and row.get("eventSource") == "aws:sqs"
        ]
        body = result.get("body")
        if (
            not messages
            or result.get("error")
            or not isinstance(body, dict)
            or "batchItemFailures" not in body
        ):
            return result
        failures = body["batchItemFailures"] or []
        rows = failures if isinstance(failures, list) else [failures]
        named = [row.get("itemIdentifier") if isinstance(row, dict) else None for row in rows]
        if {message.get("messageId") for message in messages}.issuperset(named):
            return {**result, "body": {**body, "batchItemFailures": failures}}
        why = {
            "errorType": "InvalidBatchItemFailures",
            "errorMessage": f"no messages of the batch: {named}",
        }
        return {**result, "error": True, "body": why}

    lambda_svc._execute_function = execute_for_the_trigger


def know_service_quotas() -> None:
    """Let MiniStack in this process know by its name that it lacks Service Quotas, which the doctor
    asks before every sweep. By itself it finds out in the models of all services that the SDK has:
    3 s of a processor and 400 MB.
    """
    is_a_service = router._is_aws_service_name
    router._is_aws_service_name = lambda scope: scope == "servicequotas" or is_a_service(scope)


def main() -> None:
    """Run MiniStack in this process until it is signalled, or until the parent ends with
    --follow-parent."""
    descriptor, *options = sys.argv[1:]
    if "--follow-parent" in options:
        threading.Thread(target=_end_with_parent, daemon=True).start()
    functions.run_as_lambda_does()
    keep_connections_waiting()
    listen_at(socket.socket(fileno=int(descriptor)))
    take_queues_in_any_order()
    write_answers_in_one_piece()
    copy_on_condition()
    fail_a_batch_whose_answer_names_no_message()
    know_service_quotas()
    athena.behave()
    sys.argv = ["ministack"]
    from ministack import app as gateway

    from stampede.emulator import gate

    gate.give_functions_keys_of_this_run()
    gateway.app = gate.guarded(gateway.app, int(os.environ["GATEWAY_PORT"]))
    gateway.main()


if __name__ == "__main__":
    main()
