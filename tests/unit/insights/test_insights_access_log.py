"""The saved query about S3's server access logs, over lines of the documented format."""

from pathlib import Path

from stampede.insights import evaluate
from tests.unit.insights.access_log_lines import ROLE, line

QUERY = (Path(__file__).parents[3] / "queries/access_log/server_side.cwli").read_text()


def test_requests_bytes_and_errors_are_counted_by_request_role_and_answer():
    slow = {"http_status": 503, "error_code": "SlowDown", "bytes_sent_size": 300}
    rows = evaluate(QUERY, [line(0), line(1), line(2), line(3, **slow)]).rows

    assert rows == [
        {
            "request": "REST.GET.OBJECT",
            "role": ROLE,
            "status": 206,
            "requests": 3,
            "bytes_sent": 3 * 8_388_608,
            "size_bytes": 3 * 16_777_216,
            "request_ids": 3,
            "first_request": "2026-11-22T10:00:00.250Z",
            "last_request": "2026-11-22T10:00:02.250Z",
        },
        {
            "request": "REST.GET.OBJECT",
            "role": ROLE,
            "status": 503,
            "error": "SlowDown",
            "requests": 1,
            "bytes_sent": 300,
            "size_bytes": 16_777_216,
            "request_ids": 1,
            "first_request": "2026-11-22T10:00:03.250Z",
            "last_request": "2026-11-22T10:00:03.250Z",
        },
    ]


def test_what_others_asked_and_lines_that_came_twice_are_distinguishable():
    user = {"requester": "arn:aws:iam::123456789012:user/me", "operation": "REST.PUT.PART", "http_status": 200}
    inside = {"requester": None, "operation": "S3.EXPIRE.OBJECT", "http_status": None, "request_id": None}
    rows = evaluate(QUERY, [line(0), line(0), line(1, **user), line(2, **inside), *[unlike()]]).rows

    figures = [
        (row["request"], row.get("role"), row.get("status"), row["requests"], row["request_ids"]) for row in rows
    ]
    assert figures == [
        ("REST.GET.OBJECT", ROLE, 206, 2, 1),
        ("REST.PUT.PART", None, 200, 1, 1),
        ("S3.EXPIRE.OBJECT", None, None, 1, 0),
    ]


def unlike():
    """A line of another kind, which S3 may add to its schema one day."""
    return {"timestamp": 1_795_341_600_000, "message": '{"schema_version_id": "V_2_0"}', "logStream": "s3"}
