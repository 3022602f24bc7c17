"""The process of MiniStack, at a port that its parent has bound: `keeper SOCKET [--follow-parent]`.

With --follow-parent it ends with its parent, which keeps the write end of this standard input open
and never writes: the system closes it even when the parent is killed with -9, which no exit hook
survives.
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

# Connections that wait to be accepted. At the server's own 100, connections of 500 functions that
# start at once time out, some several times. The system's limit, net.core.somaxconn, still applies.
BACKLOG = 2048
# Larger pieces aren't copied to join the head: they are objects, whose requests have no body.
MOST_JOINED_BYTES = 64 * 1024


def _end_with_parent() -> None:
    os.read(0, 1)  # unbuffered: returns only at end of file
    os.killpg(os.getpgrp(), signal.SIGKILL)


def listen_at(bound: socket.socket) -> None:
    """Have MiniStack's server use this socket alone, so that no other program gets its port."""
    bound.setblocking(False)
    Config.backlog = BACKLOG
    Config.create_sockets = lambda _: Sockets([], [bound], [])


def take_queues_in_any_order() -> None:
    """Have MiniStack's SQS accept a redrive policy before its dead-letter queue exists, as
    stampede/emulator/local_override/modules/queue needs."""
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
    """Have MiniStack's server write an answer's head together with the first piece of its body.

    The SDK for Go closes a request's body when the answer's head arrives; if net/http reads the
    body's end only then, it closes the connection, and the SDK repeats a completed call. The result
    is a second network that nobody destroys, or a 409, as MiniStack ignores ClientToken (61 of
    78,821 calls; none of 39,607 answered in one piece). ASGI allows the head to wait.
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
    """Have MiniStack's S3 check If-None-Match of CopyObject, as AWS has done since October 2025.

    By itself it checks PutObject alone, and a redelivered slice would be copied again.
    """
    copy = s3._copy_object

    def copy_or_refuse(bucket_name: str, key: str, headers: dict) -> tuple:
        objects = (s3._ensure_bucket(bucket_name) or {}).get("objects", {})
        return s3._check_put_preconditions(headers, objects.get(key)) or copy(
            bucket_name, key, headers
        )

    s3._copy_object = copy_or_refuse


def fail_a_batch_whose_answer_names_no_message() -> None:
    """Have MiniStack's trigger fail the whole batch if an answer names a failure by a wrong key or
    by an id that isn't in the batch, as AWS does (recorded: aws_answers x-53).

    By itself it deletes the messages, which hides such a defect. It also never deletes a batch
    whose list of failures is null, though that is a success (Lambda guide, "Implementing partial
    batch responses") and the JSON of Go's official type.
    """
    execute = lambda_svc._execute_function

    def execute_for_the_trigger(func: dict, event: dict) -> dict:
        result = execute(func, event)
        records = event.get("Records") or () if isinstance(event, dict) else ()
        message_ids = {
            record.get("messageId")
            for record in records
            if isinstance(record, dict) and record.get("eventSource") == "aws:sqs"
        }
        body = result.get("body")
        has_failures = isinstance(body, dict) and "batchItemFailures" in body
        if not message_ids or result.get("error") or not has_failures:
            return result
        failures = body["batchItemFailures"] or []
        rows = failures if isinstance(failures, list) else [failures]
        failed_ids = [row.get("itemIdentifier") if isinstance(row, dict) else None for row in rows]
        if message_ids.issuperset(failed_ids):
            return {**result, "body": {**body, "batchItemFailures": failures}}
        why = {
            "errorType": "InvalidBatchItemFailures",
            "errorMessage": f"no messages of the batch: {failed_ids}",
        }
        return {**result, "error": True, "body": why}

    lambda_svc._execute_function = execute_for_the_trigger


def know_service_quotas() -> None:
    """Have MiniStack recognize Service Quotas, which it lacks and every sweep's doctor asks.

    By itself it searches the models of all services of the SDK: 3 s of CPU time and 400 MB.
    """
    is_a_service = router._is_aws_service_name
    router._is_aws_service_name = lambda scope: scope == "servicequotas" or is_a_service(scope)


def main() -> None:
    """Run MiniStack until a signal or, with --follow-parent, until the parent ends."""
    descriptor, *options = sys.argv[1:]
    if "--follow-parent" in options:
        threading.Thread(target=_end_with_parent, daemon=True).start()
    functions.run_as_lambda_does()
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
