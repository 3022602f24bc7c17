"""S3's own count of a run's requests: read from the access logs, which arrive late, and kept with
the run."""

import json
import signal

import pytest

from experiments import EXPERIMENTS
from stampede.cli.command_line import main
from stampede.insights import cloudwatch as cloudwatch_query
from stampede.planning import checks, cost
from stampede.planning.plan import make_plan
from stampede.stacks import endpoints
from stampede.stacks.target import Target
from stampede.sweep import server_side
from tests.fakes import applied
from tests.fakes.logs import FakeLogs
from tests.fakes.simulated_aws import SimulatedAws
from tests.unit.conftest import go_by_clock_of

ROLE = "stampede-download-us-east-1"
SENT_MS = 1_795_341_600_000
OUTPUTS = {
    "region": "us-east-1",
    "experiment": "download",
    "function_name": "f",
    "worker_role_name": ROLE,
}
OUTPUTS |= {"log_group_name": "/aws/lambda/f", "access_log_group_name": "/aws/vendedlogs/s3/f"}


def row(requests, role=ROLE, request="REST.GET.OBJECT", **more):
    return {"request": request, "role": role, "status": 206, "requests": requests} | more


def as_answered(*rows):
    """Rows as CloudWatch returns them."""
    return [{name: str(value) for name, value in entry.items()} for entry in rows]


@pytest.fixture(autouse=True)
def run_of_two(folder):
    """A run of two messages, whose records each report 129 requests."""
    folder.write_json("run.json", {"target": "aws", "experiment": "download"})
    folder.append(
        "sent.jsonl", [{"cell": "c", "seq": seq, "sent_at_ms": SENT_MS} for seq in range(2)]
    )
    made = {
        "cell": "c",
        "seq": 0,
        "status": "ok",
        "finished_at_ms": SENT_MS + 9_000,
        "requests": 129,
    }
    folder.append("records.jsonl", [made, made])


@pytest.fixture
def query(tmp_path, monkeypatch):
    monkeypatch.setattr(cloudwatch_query, "POLL_S", 0.001)
    monkeypatch.setattr(endpoints, "is_aws", lambda url: True)  # the stub replaces it
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "a")
    verb = ["query", "server_side", "--format", "json", "--run", "r", "--results-dir"]

    def ask(stub, **outputs):
        written = {name: value for name, value in (OUTPUTS | outputs).items() if value}
        applied.apply(monkeypatch, tmp_path, written)
        with stub:
            monkeypatch.setenv("AWS_ENDPOINT_URL", stub.url)
            return main([*verb, str(tmp_path)])

    return ask


def test_the_access_logs_are_queried_for_the_runs_time_and_stored_rows_are_never_lost(
    query, folder, capsys
):
    for requests in (200, 258, 3):  # lines expire
        stub = FakeLogs(["Complete"], as_answered(row(requests, bytes_sent="2.147483648E9")))
        assert query(stub) == 0
        assert json.loads(capsys.readouterr().out) == [row(requests, bytes_sent=2_147_483_648)]
    [request] = stub.requests("StartQuery")
    assert request["logGroupName"] == OUTPUTS["access_log_group_name"]
    sent_s = SENT_MS // 1000
    assert (request["startTime"], request["endTime"]) == (sent_s - 60, sent_s + 69)
    assert "run_id" not in request["queryString"].partition("filter")[2]  # no line has one
    kept = server_side.stored(folder)
    assert (kept["role"], kept["rows"]) == (ROLE, [row(258, bytes_sent=2_147_483_648)])
    folder.write_json("server_side.json", kept | {"rows": [7]})
    assert query(FakeLogs(["Complete"], as_answered(row(3)))) == 0
    assert server_side.stored(folder)["rows"] == [row(3)]


@pytest.mark.parametrize(
    ("outputs", "stub", "words"),
    [
        ({"access_log_group_name": None}, FakeLogs([], []), "server_side_proof is false"),
        (
            {},
            FakeLogs([], [], errors={"StartQuery": ["ResourceNotFoundException"]}),
            "isn't in us-east-1",
        ),
        ({}, FakeLogs(["Complete"], []), "has no line of that time"),
    ],
)
def test_stored_rows_are_printed_once_the_lines_are_gone(
    query, folder, capsys, outputs, stub, words
):
    server_side.store(
        Target("aws", OUTPUTS), folder, server_side.Answer(["request"], [row(258)], [])
    )
    assert query(stub, **outputs) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out) == [row(258)] and words in " ".join(printed.err.split())


# The end of a sweep.


class LateLogs(SimulatedAws):
    """CloudWatch returns the rows that exist at each second, or raises an error."""

    def start_query(self, **request):
        self.asked_at_s.append(self.now_s)
        if self.error:
            raise self.error
        return {"queryId": "q"}

    def get_query_results(self, queryId):
        rows = [rows for from_s, rows in self.rows_from_s.items() if from_s <= self.now_s][-1]
        fields = [
            [{"field": name, "value": value} for name, value in row.items()]
            for row in as_answered(*rows)
        ]
        return {"status": "Complete", "results": fields}


COPIED = row(900, request="REST.COPY.OBJECT_GET")
DENIED = cloudwatch_query.ClientError({"Error": {"Code": "AccessDeniedException"}}, "StartQuery")


@pytest.mark.parametrize(
    ("rows_from_s", "error", "is_kept", "asked_at_s", "requests", "words"),
    [
        (
            {0: [], 200: [row(100)], 350: [row(258), row(7, "someone")]},
            None,
            False,
            [0, 120, 240, 360],
            265,
            "20 min",
        ),
        (
            {0: [], 500: [row(100), COPIED]},
            None,
            False,
            [*range(0, 1201, 120)],
            100,
            "100 of 258 requests so far",
        ),
        ({0: []}, None, True, [0], 0, "`stampede query server_side --run r`"),
        ({0: []}, DENIED, False, [0], 0, "logs:StartQuery"),
        ({0: []}, KeyboardInterrupt(), False, [0], 0, "stopped waiting"),
    ],
)
def test_a_sweep_waits_for_access_logs_before_the_stack_goes_but_not_forever(
    folder, capsys, monkeypatch, rows_from_s, error, is_kept, asked_at_s, requests, words
):
    logs = LateLogs("aws", OUTPUTS)
    vars(logs).update(rows_from_s=rows_from_s, error=error, asked_at_s=[])
    go_by_clock_of(logs, monkeypatch)
    server_side.collect(logs, folder, kept=is_kept)
    assert logs.asked_at_s == asked_at_s
    assert server_side.requests((server_side.stored(folder) or {}).get("rows", ())) == requests
    assert words in " ".join(capsys.readouterr().err.split())
    if isinstance(error, KeyboardInterrupt):  # SIGTERM ends the sweep
        monkeypatch.setattr(server_side.signals, "first", signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            server_side.collect(logs, folder, kept=is_kept)


# What is said before.


@pytest.mark.parametrize(
    ("target", "settings", "status", "words"),
    [
        ("local", [], "problem", "isn't AWS"),
        ("aws", [], "ok", ""),
        ("aws", ["concurrency_value=1"], "warning", "--take-over --keep"),
    ],
)
def test_the_doctor_says_whether_access_logs_will_be_available(target, settings, status, words):
    settings = ["server_side_proof=true", *settings]
    plan = make_plan(EXPERIMENTS["download"], target, settings, messages_per_concurrency=10)
    found = checks.of_plan(plan, cost.estimate(plan))
    [finding] = [row for row in found if row.check == "access logs"]
    assert finding.status == status and words in finding.sentence


def test_access_logs_and_the_wait_for_them_are_estimated_only_if_enabled():
    swept = ["concurrency_value=1", "memory_size=1024"]
    off, on = (
        cost.estimate(
            make_plan(EXPERIMENTS["download"], "aws", settings, messages_per_concurrency=10)
        )
        for settings in ([*swept, "server_side_proof=false"], [*swept, "server_side_proof=true"])
    )
    assert on.total_s == pytest.approx(off.total_s + server_side.WAIT_S)
    gb = {item.what: item.quantity for item in on.items if item not in off.items}
    # 10 downloads with a HEAD and 128 parts each, and 67 requests to upload the object: 1.5
    # KiB each.
    lines = (10 * 129 + 67) * 1536 / 2**30
    assert gb["S3 access log lines"] == pytest.approx(lines)
    assert gb["scans of access log lines"] == pytest.approx(11 * lines)
