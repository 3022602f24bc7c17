"""What a run shows of the assumptions about AWS: each check can hold, be contradicted and have no occasion, and nothing
that a user named gets into the file."""

import json

import pytest

from loader import collecting, evidence
from loader.drain import drain, wait_for_round
from stampede.cell import FORMAT, Cell
from stampede.cli.command_line import main
from stampede.runs.evidence import ASSUMPTIONS, CONTRADICTED, FILE, HELD, NOT_MET, contradictions, rows
from stampede.runs.folder import RunFolder
from tests.evidence import BOOK
from tests.fakes.simulated_aws import EPOCH_MS, OUTPUTS, SimulatedAws, record

REPORT = "REPORT RequestId: 1-2\tDuration: 1.5 ms\tBilled Duration: 2 ms\tMemory Size: 128 MB\tMax Memory Used: 40 MB\t"
ACCOUNT, SECRET = "123456789012", "AKIAIOSFODNN7EXAMPLE"
NAMES = [ACCOUNT, SECRET, "acme-payroll", "AcmePayroll", "wJalrXUtnFEMI", "jane.doe", "arn:aws"]


@pytest.fixture
def folder(tmp_path):
    made = RunFolder.create(tmp_path, "acme-payroll-run")
    made.write_json("run.json", {"experiment": "download"})
    return made


@pytest.fixture
def stack(monkeypatch):
    made = SimulatedAws("aws", dict(OUTPUTS) | {"experiment": "download", "log_group_name": "acme-payroll"})
    monkeypatch.setattr(collecting.time, "time", lambda: EPOCH_MS / 1000 + made.now_s)
    return made


def tried(seq, attempt, from_s, to_s, status="ok", n=5, cell="a", **more):
    """A record of one delivery."""
    times = {"started_at_ms": EPOCH_MS + int(from_s * 1000), "finished_at_ms": EPOCH_MS + int(to_s * 1000)}
    return {"cell": cell, "seq": seq, "attempt": attempt, "status": status, "concurrency_limit": n, **times, **more}


def checked(stack, folder, records, seen=None):
    """The outcome of every check, by its id."""
    folder.append("sent.jsonl", [{"cell": "a", "seq": 0, "message_id": "m", "sent_at_ms": EPOCH_MS, "warm_up": 0}])
    folder.append("records.jsonl", records)
    evidence.note_lines(folder, seen or {})
    evidence.check_run(stack, folder)
    return {row["check"]: row["outcome"] for row in rows(folder.read_json(FILE))}


def test_every_check_is_a_row_of_the_book_and_every_row_that_says_so_has_a_check(stack, folder):
    assert {row["checked"] for row in BOOK["assumption"] if "checked" in row} == ASSUMPTIONS.keys()
    evidence.check_run(stack, folder)
    assert {check["id"] for check in folder.read_json(FILE)["checks"]} == ASSUMPTIONS.keys()


def ramp(peak, seconds=100):
    """`peak` operations at once after half a minute, of an N beyond the ramp's first minute."""
    return [tried(0, 1, 0, seconds, n=400), *(tried(seq, 1, 30, seconds, n=400) for seq in range(1, peak))]


REFUSED = {"error_type": "SlowDown", "error_message": "GetObject 503 SlowDown: S3 throttled every attempt"}
OTHER = {"error_type": "S3Error", "error_message": "GetObject 418 Teapot: short and stout"}
RECORDS = {
    "receive-counts": ([tried(0, 5, 1, 2)], [tried(0, 6, 1, 2)]),
    "redelivery": (
        [tried(0, 1, 1, 2, "error"), tried(0, 2, 5, 6)],
        [tried(0, 1, 1, 2, "error"), tried(0, 2, 400, 401)],
    ),
    "concurrency": ([tried(seq, 1, 1, 2) for seq in range(5)], [tried(seq, 1, 1, 2) for seq in range(7)]),
    "trigger-ramp": (ramp(300), ramp(100)),
    "clocks": ([tried(0, 1, -59, 0)], [tried(0, 1, -61, 0)]),
    "codes": ([tried(0, 1, 1, 2, "error", **REFUSED)], [tried(0, 1, 1, 2, "error", **OTHER)]),
}
LINES = {
    "record-keys": ({"records": 1}, {"records": 9, "broken_records": 1}),
    "lambda-lines": ({"lambda_lines": 1}, {"lambda_lines": 9, "odd_lambda_lines": 1}),
    "logs-late": ({"ingested": 1, "most_late_ms": 600_000}, {"ingested": 1, "most_late_ms": 600_100}),
    "logs-pages": ({"pages": 1, "most_repeats": 4}, {"pages": 1, "most_repeats": 5}),
    "logs-order": ({"pages": 1}, {"pages": 9, "disordered_pages": 1}),
}


@pytest.mark.parametrize("check", RECORDS)
@pytest.mark.parametrize(("outcome", "which"), [(HELD, 0), (CONTRADICTED, 1)])
def test_records_hold_or_contradict(check, outcome, which, stack, folder):
    assert checked(stack, folder, RECORDS[check][which])[check] == outcome


def test_one_that_waited_long_for_its_turn_contradicts_nothing_where_others_came_back_soon(stack, folder):
    soon, late = RECORDS["redelivery"]
    assert checked(stack, folder, soon + [record | {"seq": 1} for record in late])["redelivery"] == HELD


def test_with_provisioned_pollers_no_ramp_is_judged(stack, folder):
    values = {"provisioned_pollers": {"minimum": 2, "maximum": 10}}
    cells = [Cell("b", {"provisioned_pollers": None}, ()), Cell("a", values, ())]
    folder.write_json("run.json", {"format": FORMAT, "cells": [cell.as_json() for cell in cells]})
    assert checked(stack, folder, ramp(100))["trigger-ramp"] == NOT_MET


@pytest.mark.parametrize("check", LINES)
@pytest.mark.parametrize(("outcome", "which"), [(HELD, 0), (CONTRADICTED, 1)])
def test_lines_hold_or_contradict(check, outcome, which, stack, folder):
    assert checked(stack, folder, [], LINES[check][which])[check] == outcome


def test_a_drain_on_aws_checks_what_it_meets_and_one_of_another_cell_adds_to_it(stack, folder):
    for seq, cell in enumerate("ab"):
        folder.append("sent.jsonl", [{"cell": cell, "seq": seq, "message_id": "m", "sent_at_ms": EPOCH_MS}])
    for at_s, text in (
        (1, "START RequestId: 1-2 Version: $LATEST"),
        (2, "END RequestId: 1-2"),
        (3, REPORT),
        (4, "REPORT in other words"),
    ):
        stack.log(text, at_s=at_s, seen_at_s=at_s + 1)
    stack.log(record(0, run_id=folder.run_id, cell="a"), at_s=3)
    stack.log('{"concurrency_limit": 5, "run_', at_s=3)
    for cell in "ab":
        stack.log(record(int(cell == "b"), run_id=folder.run_id, cell=cell), at_s=stack.now_s + 5)
        drain(stack, folder, cells=[cell], clock=stack.clock, sleep=stack.sleep)
    checks = {row["check"]: row for row in rows(folder.read_json(FILE))}
    counts = {name: (checks[name]["held"], checks[name]["contradicted"]) for name in ("lambda-lines", "record-keys")}
    assert counts == {"lambda-lines": (3, 1), "record-keys": (3, 1)}
    assert checks["logs-order"]["outcome"] == HELD
    [caveat] = contradictions(folder.path)
    assert "a record is one log line, as the function wrote it" in caveat and "REPORT lines have the recorded" in caveat


def test_rounds_and_warm_ups_note_lines_and_leave_the_checks_to_the_drain_of_the_cell(stack, folder):
    folder.append("sent.jsonl", [{"cell": "a", "seq": 0, "message_id": "m", "sent_at_ms": EPOCH_MS, "round": 1}])
    stack.log(record(0, run_id=folder.run_id), at_s=1)
    wait_for_round(stack, folder, "a", 1, clock=stack.clock, sleep=stack.sleep)
    drain(stack, folder, quiet=True, clock=stack.clock, sleep=stack.sleep)
    noted = folder.read_json(FILE)
    assert noted.keys() == {"lines"} and noted["lines"]["records"] == 1
    drain(stack, folder, clock=stack.clock, sleep=stack.sleep)
    assert {check["id"] for check in folder.read_json(FILE)["checks"]} == ASSUMPTIONS.keys()


def test_a_local_drain_writes_no_evidence(stack, folder):
    vars(stack)["kind"] = "local"
    folder.append("sent.jsonl", [{"cell": "a", "seq": 0, "message_id": "m", "sent_at_ms": EPOCH_MS}])
    stack.log(record(0, run_id=folder.run_id), at_s=1)
    drain(stack, folder, clock=stack.clock, sleep=stack.sleep)
    assert not (folder.path / FILE).exists()


def test_no_account_no_name_and_no_key_gets_into_the_file(stack, folder):
    planted = [
        {"error_type": "AccessDenied", "error_message": f"GetObject 403 AccessDenied: {' '.join(NAMES)}"},
        {"error_type": "S3Error", "error_message": f"GetObject 403 {SECRET}: no"},
        {"error_type": "acme-payroll", "error_message": " ".join(NAMES)},
        {"error_type": ACCOUNT, "error_message": f"{ACCOUNT}: wJalrXUtnFEMI"},
        {"error_type": "AcmePayroll", "error_message": f"GetObject 403 {ACCOUNT}: {SECRET}"},
        {"error_type": "UnexpectedError", "error_message": "arn:aws:s3:::acme-payroll 403 jane.doe:"},
    ]
    own = {"cell": "acme-payroll", "experiment_tag": "jane.doe", "method": "acme-payroll", "sandbox_id": SECRET}
    records = [tried(seq, 1, 1, 2, "error", **more | own) for seq, more in enumerate(planted)]
    vars(stack)["outputs"] |= {"account_id": ACCOUNT, "bucket_name": "acme-payroll"}
    checked(stack, folder, records)
    written = (folder.path / FILE).read_text()
    assert [name for name in NAMES if name.lower() in written.lower()] == []
    assert '"AccessDenied 403 AccessDenied": 1' in written  # and what is worth sending does
    assert '"other": 3' in written


def test_the_verb_prints_the_checks_of_one_run_and_names_the_runs_of_several(stack, folder, capsys):
    checked(stack, folder, RECORDS["codes"][1])
    where = ["--results-dir", str(folder.path.parent), "--format", "json"]
    assert main(["evidence", folder.run_id, *where]) == 0
    checks = json.loads(capsys.readouterr().out)
    assert {row["check"]: row["outcome"] for row in checks}["codes"] == CONTRADICTED
    assert [row["figures"] for row in checks if row["check"] == "codes"] == ["S3Error 418 Teapot 1"]
    assert main(["evidence", folder.run_id, folder.run_id, *where]) == 0
    assert {row["run"] for row in json.loads(capsys.readouterr().out)} == {folder.run_id}


def test_a_run_that_checked_nothing_is_refused_in_a_line(folder, capsys):
    assert main(["evidence", folder.run_id, "--results-dir", str(folder.path.parent)]) == 2
    assert "has no checks in an evidence.json" in capsys.readouterr().err
