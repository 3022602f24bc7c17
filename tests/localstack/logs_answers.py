"""What CloudWatch Logs answers, and where emulators answer otherwise; and Athena, which not all of them have."""

from __future__ import annotations

import secrets
import time
from typing import Any

from tests.localstack.asking import DONE, LOGS_API, outcome, question
from tests.localstack.starting import Endpoint

IN_ORDER, STREAM_AFTER_STREAM = ["a0", "b1", "a2", "b3"], ["a0", "a2", "b1", "b3"]


def _group(endpoint: Endpoint) -> tuple[Any, str, int]:
    """A client, a new log group with the streams `a` and `b`, and the time in epoch ms."""
    logs, name = endpoint.client("logs"), f"/stampede/{secrets.token_hex(4)}"
    logs.create_log_group(logGroupName=name)
    for stream in "ab":
        logs.create_log_stream(logGroupName=name, logStreamName=stream)
    return logs, name, int(time.time() * 1000)


def _found(endpoint: Endpoint, **wanted: Any) -> list[str]:
    """All that FilterLogEvents finds of a0, b1, a2, b3 in two streams, page after page."""
    logs, name, now_ms = _group(endpoint)
    for index, stream in enumerate("abab"):
        event = {"timestamp": now_ms + index, "message": f"{stream}{index}"}
        logs.put_log_events(logGroupName=name, logStreamName=stream, logEvents=[event])
    messages, answer = [], {"nextToken": None}
    while "nextToken" in answer:
        token = {"nextToken": answer["nextToken"]} if answer["nextToken"] else {}
        answer = logs.filter_log_events(logGroupName=name, **wanted, **token)
        messages += [event["message"] for event in answer["events"]]
    return messages


@question("InvalidParameterException", f"{LOGS_API}, PutLogEvents", ministack=DONE)
def events_of_one_request_are_not_in_the_order_of_time(endpoint: Endpoint) -> str:
    logs, name, now_ms = _group(endpoint)
    events = [{"timestamp": now_ms - before, "message": "x"} for before in (0, 1000)]
    return outcome(logs.put_log_events, logGroupName=name, logStreamName="a", logEvents=events)


@question(
    IN_ORDER,
    f"{LOGS_API}, FilterLogEvents, interleaved",
    localstack=STREAM_AFTER_STREAM,
    moto=STREAM_AFTER_STREAM,
)
def the_order_of_the_events_of_two_streams(endpoint: Endpoint) -> list[str]:
    return _found(endpoint)


@question(IN_ORDER, f"{LOGS_API}, FilterLogEvents, interleaved")
def their_order_where_it_is_asked_for(endpoint: Endpoint) -> list[str]:
    return _found(endpoint, interleaved=True)


@question(IN_ORDER, f"{LOGS_API}, FilterLogEvents, nextToken", ministack=IN_ORDER[:2])
def four_events_in_pages_of_two(endpoint: Endpoint) -> list[str]:
    return _found(endpoint, interleaved=True, limit=2)


@question("InvalidParameterException", f"{LOGS_API}, FilterLogEvents, limit", ministack=DONE)
def a_page_of_more_than_10000_events(endpoint: Endpoint) -> str:
    logs, name, _ = _group(endpoint)
    return outcome(logs.filter_log_events, logGroupName=name, limit=10_001)


@question("ResourceNotFoundException", f"{LOGS_API}, FilterLogEvents, errors")
def a_log_group_is_not_there(endpoint: Endpoint) -> str:
    return outcome(endpoint.client("logs").filter_log_events, logGroupName="/stampede/missing")


@question(
    DONE,
    f"{LOGS_API}, PutQueryDefinition",
    ministack="InvalidOperationException",
    localstack="InternalFailure",
    moto="500",
)
def a_query_is_saved(endpoint: Endpoint) -> str:
    return outcome(endpoint.client("logs").put_query_definition, name="q", queryString="fields @message")


@question(DONE, "Amazon Athena API Reference, ListWorkGroups", localstack="InternalFailure")
def the_workgroups_of_athena_are_listed(endpoint: Endpoint) -> str:
    return outcome(endpoint.client("athena").list_work_groups)
