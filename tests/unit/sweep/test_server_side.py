"""S3's own count of a run's requests: asked of the log group of its access logs, late, and kept with the run."""

import json
import signal

import pytest

from experiments import EXPERIMENTS
from stampede.cli.command_line import main
from stampede.insights import cloudwatch as cloudwatch_query
from stampede.planning import checks, cost
from stampede.planning.plan import make_plan
from stampede.runs.folder import RunFolder
from stampede.stacks import endpoints
from stampede.stacks.target import Target
from stampede.sweep import server_side
from tests.fakes import applied
from tests.fakes.logs import FakeLogs
from tests.fakes.simulated_aws import SimulatedAws
from tests.unit.insights.access_log_lines import ROLE

SENT_MS = 1_795_341_600_000
RECORD = {"cell": "c", "seq": 0, "status": "ok"}
OUTPUTS = {
    "region": "us-east-1",
    "experiment": "download",
    "function_name": "f",
    "log_group_name": "/aws/lambda/f",
    "access_log_group_name": "/aws/vendedlogs/s3/f",
    "worker_role_name": ROLE,
}
PLACE_OF_ROWS = "results/run-a/server_side.json"


def row(requests, role=ROLE, request="REST.GET.OBJECT", **more):
    return {"request": request, "role": role, "status": 206, "requests": requests} | more


def as_answered(*rows):
    """Rows as CloudWatch writes them."""
    return [{name: str(value) for name, value in entry.items()} for entry in rows]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A run of two messages, whose records say that they made 129 requests each."""
    monkeypatch.chdir(tmp_path)
    folder = RunFolder.create(tmp_path / "results", "run-a")
    folder.write_json("run.json", {"target": "aws", "experiment": "download"})
    folder.append("sent.jsonl", [{"cell": "c", "seq": seq, "sent_at_ms": SENT_MS + seq} for seq in range(2)])
    folder.append("records.jsonl", [RECORD | {"finished_at_ms": SENT_MS + 9_000, "requests": 129} for _ in range(2)])
    return folder


# The verb.


@pytest.fixture
def query(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(cloudwatch_query, "POLL_S", 0.001)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    monkeypatch.setattr(endpoints, "is_aws", lambda url: True)  # the stub stands for it

    def ask(stub, *arguments, **outputs):
        there = {name: value for name, value in {**OUTPUTS, **outputs}.items() if value is not None}
        applied.apply(monkeypatch, tmp_path, there)
        with stub:
            monkeypatch.setenv("AWS_ENDPOINT_URL", stub.url)
            return main(["query", "server_side", "--format", "json", *arguments])

    return ask


def test_the_access_logs_are_asked_about_the_runs_time_and_no_fewer_rows_replace_those_that_are_kept(
    query, folder, capsys
):
    for requests in (200, 258, 3):  # lines expire
        stub = FakeLogs(["Complete"], as_answered(row(requests, bytes_sent="2.147483648E9")))
        assert query(stub) == 0
        assert json.loads(capsys.readouterr().out) == [row(requests, bytes_sent=2_147_483_648)]
    [request] = stub.requests("StartQuery")
    assert request["logGroupName"] == "/aws/vendedlogs/s3/f"
    assert (request["startTime"], request["endTime"]) == (SENT_MS // 1000 - 60, SENT_MS // 1000 + 69)
    assert "run_id" not in request["queryString"].partition("filter")[2]  # no line has one
    kept = server_side.stored(folder)
    assert [kept[name] for name in ("role", "log_group")] == [ROLE, "/aws/vendedlogs/s3/f"]
    assert kept["rows"] == [row(258, bytes_sent=2_147_483_648)]
    folder.write_json("server_side.json", {"asked_at": "", "role": "", "columns": [], "rows": [7]})
    assert (query(FakeLogs(["Complete"], as_answered(row(3)))), server_side.stored(folder)["rows"]) == (0, [row(3)])


@pytest.mark.parametrize(
    ("outputs", "stub", "words"),
    [
        ({"access_log_group_name": None}, FakeLogs([], []), "server_side_proof is false"),
        ({}, FakeLogs([], [], errors={"StartQuery": ["ResourceNotFoundException"]}), "isn't in us-east-1"),
        ({}, FakeLogs(["Complete"], []), "has no line of that time"),
    ],
    ids=["another stack", "destroyed", "made anew"],
)
def test_once_the_lines_are_gone_the_kept_rows_are_printed(query, folder, capsys, outputs, stub, words):
    server_side.store(Target("aws", OUTPUTS), folder, server_side.Answer(["request"], [row(258)], []))
    assert query(stub, **outputs) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out) == [row(258)]
    assert words in " ".join(printed.err.split()) and f"using {PLACE_OF_ROWS}" in printed.err


# The end of a sweep.


class LateLogs(SimulatedAws):
    """CloudWatch gives the rows that there are from each second on."""

    def start_query(self, **request):
        self.asked_at_s.append(self.now_s)
        if self.error:
            raise self.error
        return {"queryId": "q"}

    def get_query_results(self, queryId):
        rows = [rows for from_s, rows in self.rows_from_s.items() if from_s <= self.now_s][-1]
        fields = [[{"field": name, "value": value} for name, value in row.items()] for row in as_answered(*rows)]
        return {"status": "Complete", "results": fields}


COPIED = row(900, request="REST.COPY.OBJECT_GET")
DENIED = cloudwatch_query.ClientError({"Error": {"Code": "AccessDeniedException"}}, "StartQuery")


@pytest.mark.parametrize(
    ("rows_from_s", "happening", "asked_at_s", "kept", "words"),
    [
        ({0: [], 200: [row(100)], 350: [row(258), row(7, "someone")]}, {}, [0, 120, 240, 360], 265, "at most 20 min"),
        (
            {0: [], 500: [row(100), COPIED]},
            {},
            [*range(0, 1201, 120)],
            100,
            "100 of 258 requests so far; lines that ar",
        ),
        ({0: []}, {"kept": True}, [0], 0, "`stampede query server_side --run run-a` reads lines that arrive later"),
        ({0: []}, {"requests": None}, [0], 0, ""),
        ({0: []}, {"error": DENIED}, [0], 0, "logs:StartQuery"),
        ({0: []}, {"error": KeyboardInterrupt()}, [0], 0, "stopped waiting"),
    ],
)
def test_before_a_stack_goes_its_access_logs_are_waited_for_until_all_requests_are_logged_or_it_takes_too_long(
    folder, capsys, rows_from_s, happening, asked_at_s, kept, words
):
    records = [RECORD | {"finished_at_ms": SENT_MS + 9_000, "requests": happening.get("requests", 129)}] * 2
    folder.rewrite("records.jsonl", records)
    logs = collect(folder, rows_from_s, happening.get("error"), kept=happening.get("kept", False))
    assert logs.asked_at_s == asked_at_s
    assert server_side.requests((server_side.stored(folder) or {}).get("rows", ())) == kept
    assert words in " ".join(capsys.readouterr().err.split())


def collect(folder, rows_from_s, error=None, kept=False):
    logs = LateLogs("aws", OUTPUTS)
    vars(logs).update(rows_from_s=rows_from_s, error=error, asked_at_s=[])
    server_side.collect(logs, folder, kept=kept, sleep=logs.sleep, clock=logs.clock)
    return logs


def test_sigterm_ends_the_wait_and_the_sweep(folder, monkeypatch):
    monkeypatch.setattr(server_side.signals, "first", signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt):
        collect(folder, {0: []}, KeyboardInterrupt())


# What is said before.


@pytest.mark.parametrize(
    ("settings", "status", "words"),
    [
        (["local", "server_side_proof=true"], "problem", "the embedded AWS isn't AWS"),
        (["aws", "server_side_proof=true"], "ok", ""),
        (["aws", "server_side_proof=true", "concurrency_value=1"], "warning", "--take-over --keep"),
    ],
)
def test_the_doctor_says_whether_s3_will_tell(settings, status, words):
    target, *values = settings
    plan = make_plan(EXPERIMENTS["download"], target, values, messages_per_concurrency=10)
    [finding] = [row for row in checks.run(plan, [checks.PLAN]) if row.check == "access logs"]
    assert finding.status == status and words in finding.sentence


def test_the_proof_is_on_the_bill_only_where_it_is_on_and_so_is_the_wait_for_it():
    def estimate(*settings):
        swept = ["concurrency_value=1", "memory_size=1024", *settings]
        estimated = cost.estimate(make_plan(EXPERIMENTS["download"], "aws", swept, messages_per_concurrency=10))
        return estimated.total_s, {item.what: item for item in estimated.items}

    (without_s, off), (with_s, on) = estimate(), estimate("server_side_proof=true")
    assert with_s == pytest.approx(without_s + server_side.WAIT_S)
    lines, scans, _ = own = ["S3 access log lines", "scans of access log lines", "storage of access log lines"]
    assert sorted(on.keys() - off.keys()) == own
    # 10 downloads of a HEAD and 128 parts, and 67 requests that put the object: 1.5 KiB each.
    assert on[lines].quantity == pytest.approx((10 * 129 + 67) * 1536 / 2**30)
    assert on[lines].usd_per_unit == 0.5 and on[scans].quantity == pytest.approx(11 * on[lines].quantity)
