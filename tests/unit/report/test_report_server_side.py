"""What S3 itself saw of a run, beside its records."""

import json
from types import SimpleNamespace

import pytest

from experiments import EXPERIMENTS
from stampede import report
from stampede.report.sections import server_side
from tests.unit.report import handmade_run
from tests.unit.report.page_parser import Page

ROLE = "stampede-download-us-east-1"


def row(request, requests, status=200, role=ROLE, **more):
    return {"request": request, "role": role, "status": status, "requests": requests, "request_ids": requests} | more


def beside(folder, *rows, role=ROLE):
    """The page, and the lines of the table that sets S3's count beside the records': what, S3, records, difference."""
    (folder / server_side.FILE).write_text(
        json.dumps({"asked_at": "2026-11-22T12:00:00+00:00", "role": role, "rows": rows})
    )
    run = SimpleNamespace(directory=folder, experiment=EXPERIMENTS["copy"])
    grid = server_side._beside(
        server_side.seen([row for row in rows if row.get("role") == role]), server_side._recorded(run)
    )
    return [[entry.text for entry in group[0].entries] for group in grid.groups]


@pytest.fixture
def downloads(tmp_path):
    """Three downloads of 1 MB in 10 requests each, one after a failure; a warm-up; what S3 saw is up to the test."""
    made = [handmade_run.record(1000 * at, 1000 * at + 500, seq=at, requests=10, retries=0) for at in range(3)]
    failed = handmade_run.error(0, 400, seq=0, requests=4, retries=3)
    warm_up = handmade_run.record(0, 100, seq=9, warm_up=1, requests=10, retries=0)
    return handmade_run.write(tmp_path / "run", [failed, *made, warm_up])


def test_requests_bytes_and_errors_stand_side_by_side_with_their_difference(downloads):
    rows = (
        row("REST.HEAD.OBJECT", 4),
        row("REST.GET.OBJECT", 36, 206, bytes_sent=4_000_000, size_bytes=9),
        row("REST.GET.OBJECT", 3, 503, error="SlowDown", bytes_sent=900),
        row("REST.GET.OBJECT", 1, 403, error="AccessDenied"),
        row("REST.PUT.PART", 64, role=None, size_bytes=1_000_000),
    )
    lines = beside(downloads, *rows)
    assert lines == [
        ["requests", "44", "44", "0", "0.0"],
        ["bytes transferred", "4,000,000", "4,000,000", "0", "0.0"],
        ["errors, and retried requests", "4", "3", "+1", "+33.3"],
        ["503 SlowDown", "3", "–", "–", "–"],
    ]


def test_the_page_shows_both_and_says_what_the_logs_are_worth(downloads):
    times = {"first_request": "2026-11-22T10:00:00.250Z", "last_request": "2026-11-22T10:00:07.250Z"}
    beside(
        downloads, row("REST.GET.OBJECT", 30, 206, bytes_sent=3_000_000.0, **times), row("REST.PUT.PART", 64, role=None)
    )
    report.build(downloads)
    page = Page((downloads / "report.html").read_text())
    assert "server_side" in page.ids and page.faults == []
    assert "3,000,000" in page.text and "−14" in page.text  # 30 of the records' 44
    assert "are from 2026-11-22 10:00:00 UTC to 2026-11-22 10:00:07 UTC" in page.text
    assert "best-effort basis" in page.text and "No log line comes from the run’s own role" not in page.text
    assert "server_side.json" in page.references and "Some lines arrived more than once" not in page.text


def test_lines_that_came_twice_and_a_run_without_own_lines_are_reported(downloads):
    beside(downloads, row("REST.GET.OBJECT", 40, role="someone", request_ids=30))
    report.build(downloads)
    text = Page((downloads / "report.html").read_text()).text
    assert "No log line comes from the run’s own role" in text and "Some lines arrived more than once" in text


@pytest.mark.parametrize(
    "content", ['{"role": "r", "rows": []}', '{"rows": 5}', '{"rows": [7, {"request": 1, "requests": "x"}]}', "[]", "{"]
)
def test_what_s3_has_not_logged_or_can_not_be_read_leaves_no_section(downloads, content):
    (downloads / server_side.FILE).write_text(content)
    run = report.load(downloads)
    assert server_side.server_side(SimpleNamespace(run=run)) is None
    assert any(server_side.FILE in warning for warning in run.warnings) == (content in ("[]", "{"))


def test_a_copy_is_one_request_and_its_bytes_are_what_was_written(tmp_path):
    record = {"requests": 1002, "bytes": 10_000_000, "slowdowns": 5, "retries": 5}
    (tmp_path / "records.jsonl").write_text(json.dumps(record) + "\n")
    lines = beside(
        tmp_path,
        row("REST.COPY.OBJECT", 1000, size_bytes=10_000_000),
        row("REST.COPY.OBJECT_GET", 1000, size_bytes=10_000_000),
        row("REST.COPY.OBJECT", 6, 503, error="SlowDown", size_bytes=60_000),
        row("REST.GET.BUCKET", 2),
    )
    assert [line[:4] for line in lines] == [
        ["requests", "1,008", "1,002", "+6"],
        ["bytes transferred", "10,000,000", "10,000,000", "0"],
        ["errors, and retried requests", "6", "5", "+1"],
        ["503 SlowDown", "6", "5", "+1"],
    ]


@pytest.mark.parametrize(
    ("experiment", "logged", "not_logged"),
    [
        ("express", {"storage_class": "standard"}, [{"storage_class": "express"}]),
        ("filesystem", {"storage": "s3_in_vpc"}, [{"storage": "efs"}, {"storage": "s3files"}]),
    ],
)
def test_requests_that_s3_logs_nowhere_are_not_expected_of_it(tmp_path, experiment, logged, not_logged):
    rows = [record | {"requests": 100} for record in (logged, *not_logged)]
    (tmp_path / "records.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = SimpleNamespace(directory=tmp_path, experiment=EXPERIMENTS[experiment])
    assert server_side._recorded(run).requests == 100
