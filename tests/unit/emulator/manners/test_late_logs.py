"""CloudWatch Logs shows a line some seconds after it was written."""

import time

import pytest

from stampede.emulator.manners.late_logs import LateLogs

LINES, GROUP = 200, {"logGroupName": "g"}


@pytest.fixture
def logged(aws):
    """How many of LINES lines written now are shown, by the seconds that have passed."""
    aws = aws(LateLogs)
    logs, [manner], now = aws.client("logs"), aws.manners, time.time()
    stream = GROUP | {"logStreamName": "s"}
    logs.create_log_group(**GROUP)
    logs.create_log_stream(**stream)
    events = [{"timestamp": int(now * 1000), "message": f"line {number}"} for number in range(LINES)]
    logs.put_log_events(**stream, logEvents=events)

    def shown(after_s):
        manner._wall_clock = lambda: now + after_s
        return sum(len(page["events"]) for page in logs.get_paginator("filter_log_events").paginate(**GROUP))

    return shown, logs


def test_lines_come_seconds_late_and_a_few_a_minute_late(logged):
    shown, _ = logged
    assert shown(LateLogs.USUAL_S[0] - 0.1) == 0
    assert 0 < shown(5) < 0.7 * LINES
    assert 0.9 * LINES < shown(LateLogs.USUAL_S[1]) < LINES
    assert shown(LateLogs.LATE_S[1]) == LINES


def test_some_answers_are_an_empty_page_and_a_token(logged):
    shown, logs = logged
    shown(LateLogs.LATE_S[1])
    answers = [logs.filter_log_events(**GROUP) for _ in range(40)]
    empty = [page for page in answers if "nextToken" in page]
    assert 0 < len(empty) < 20
    assert not any(page["events"] for page in empty)
    assert len(logs.filter_log_events(**GROUP, nextToken=empty[0]["nextToken"])["events"]) == LINES
