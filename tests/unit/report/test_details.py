"""The sections below the tables: S3's own logs, evidence, cost, Athena, rates."""

import json

import pytest

from experiments import EXPERIMENTS
from stampede.report import details
from stampede.report.access_logs import FILE, detail
from stampede.report.run import load
from stampede.runs import evidence
from tests.contract import synthetic
from tests.unit.report import handmade_run
from tests.unit.report.handmade_run import analysed

ROLE = "stampede-download-us-east-1"


@pytest.fixture
def folder(tmp_path):
    """Three downloads of 1 MB in 10 requests each, one after a failure, and a warm-up."""
    made = [
        handmade_run.record(1000 * at, 1000 * at + 500, seq=at, requests=10, retries=0)
        for at in range(3)
    ]
    failed = handmade_run.error(0, 400, requests=4, retries=3)
    return handmade_run.write(tmp_path / "run", [failed, *made, made[0] | {"seq": 9, "warm_up": 1}])


def row(request, requests, status=200, role=ROLE, **more):
    return {
        "request": request,
        "role": role,
        "status": status,
        "requests": requests,
        "request_ids": requests,
    } | more


def logs_of(folder, *rows):
    (folder / FILE).write_text(json.dumps({"role": ROLE, "rows": rows}))
    shown = detail(load(folder))
    return shown, [[line[name] for name in ("logs", "records")] for line in shown.tables[0].rows]


def rows_of(folder, name):
    """The rows of a detail's table; none without the detail."""
    return [
        row
        for each in details.details(analysed(folder))
        if each.name == name
        for row in each.tables[0].rows
    ]


def test_what_s3_logged_of_the_runs_own_role_stands_beside_the_records(folder):
    shown, lines = logs_of(
        folder,
        row("REST.GET.OBJECT", 40, 206, bytes_sent=4_000_000.0, size_bytes=9),
        row("REST.COPY.OBJECT", 4, size_bytes=7, bytes_sent=1),
        row("REST.COPY.OBJECT_GET", 4, size_bytes=7),
        row("REST.GET.OBJECT", 3, 503, error="SlowDown", bytes_sent=900),
        row("REST.PUT.PART", 64, role=None, size_bytes=1_000_000),
        row("REST.PUT.PART", "many"),
    )
    assert lines == [[47, 44], [4_000_007, 4_000_000], [3, 3], [3, None]]
    assert len(shown.sentences) == 1 and len(shown.tables[1].rows) == 5


def test_repeated_lines_missing_own_lines_and_invalid_logs_are_reported(folder):
    shown, _ = logs_of(folder, row("REST.GET.OBJECT", 40, role="someone", request_ids=30))
    assert "own role" in shown.sentences[1] and "more than once" in shown.sentences[2]
    (folder / FILE).write_text("[]")
    run = load(folder)
    assert detail(run) is None and FILE in " ".join(run.warnings)


def test_requests_that_s3_never_logs_are_not_expected(tmp_path):
    folder = synthetic.write(
        tmp_path / "run", EXPERIMENTS["express"], ["operation=upload", "object_bytes=1000"]
    )
    synthetic.change_records(
        folder, lambda row: {"requests": 1 if row["storage_class"] == "standard" else 1000}
    )
    _, [(_, recorded), *_] = logs_of(folder, row("REST.PUT.OBJECT", 1))
    assert 0 < recorded < 1000


def test_evidence_says_what_was_held_and_what_contradicted(folder):
    checks = [
        {"id": "redelivery", "held": 12},
        {"id": "logs-late", "contradicted": 1, "values": {"latest_s": 1700.5}},
    ]
    (folder / evidence.FILE).write_text(
        json.dumps({"checks": [*checks, {"id": "of another version"}]})
    )
    rows = {row["check"]: (row["outcome"], row["figures"]) for row in rows_of(folder, "evidence")}
    assert rows["logs-late"] == (evidence.CONTRADICTED, "latest 1,700.5 s")
    assert (rows["redelivery"][0], rows["codes"][0]) == (evidence.HELD, evidence.NOT_MET)


ITEM = {
    "service": "S3",
    "what": "GET",
    "quantity": 20,
    "unit": "requests",
    "usd": 0,
    "usd_per_unit": 4e-7,
}
UNPRICED = ITEM | {"what": "free", "usd": None, "usd_per_unit": None}
COST = {"total_usd": 1.5, "items": [ITEM, ITEM | {"usd": 1.5}, UNPRICED]}


@pytest.mark.parametrize(
    ("changes", "usd"),
    [
        ({}, [8e-6, 1.5, None]),
        ({"cost": COST | {"is_at_most": True}}, []),
        ({"target": "local"}, []),
    ],
)
def test_the_estimated_cost_is_shown_only_for_runs_on_aws(tmp_path, changes, usd):
    folder = handmade_run.write(
        tmp_path / "run", [handmade_run.record(0, 9)], **{"cost": COST} | changes
    )
    assert [row["usd"] for row in rows_of(folder, "bill")] == usd
    sentences = " ".join(getattr(details.cost(load(folder)), "sentences", ()))
    assert ("$1.50" in sentences and "not included: free" in sentences) == bool(usd)


def test_athenas_own_times_and_what_a_query_costs_have_a_table(tmp_path):
    settings = ["operation=count", "storage_class=standard", "object_bytes=10000"]
    prices = {"prices": {"athena_tb": 5.0}, "items": []}
    folder = synthetic.write(
        tmp_path / "run", EXPERIMENTS["express"], settings, target="aws", cost=prices
    )
    [queried] = rows_of(folder, "athena")
    assert (queried["engine_s"], queried["usd"]) == (0.25, pytest.approx(5.0 * 10 / 2**20))
    assert rows_of(folder, "resources") == []


@pytest.mark.parametrize(
    ("course", "figures"),
    [
        ("1:100:8:0 2:100:8:100 4:400:9:0", [400, 9, 1 / 11]),
        ("1:100:8:0 2:nan:8:0", []),
        (None, []),
    ],
)
def test_the_rate_over_time_is_that_of_the_median_run(tmp_path, course, figures):
    folder = synthetic.write(tmp_path / "run", EXPERIMENTS["copy"], ["parallel_limit=10"])
    synthetic.change_records(folder, lambda row: {"trajectory": course})
    names = ("most_per_s", "most_in_flight", "slow_share")
    assert [line[name] for line in rows_of(folder, "rate") for name in names] == pytest.approx(
        figures
    )
