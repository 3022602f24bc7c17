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


def checked(stack, folder, records=(), latest_ms=-1):
    """The outcome of every check, by its id."""
    folder.append("records.jsonl", records)
    evidence.note_latest(folder, latest_ms)
    evidence.check_run(stack, folder)
    return {row["check"]: row["outcome"] for row in rows(folder.read_json(FILE))}


def test_every_check_is_a_row_of_the_book_and_every_row_that_says_so_has_a_check(stack, folder):
    assert {row["checked"] for row in BOOK["assumption"] if "checked" in row} == ASSUMPTIONS.keys()
    assert set(checked(stack, folder).values()) == {NOT_MET}
    assert {check["id"] for check in folder.read_json(FILE)["checks"]} == ASSUMPTIONS.keys()


def ramp(peak, seconds=100):
    """`peak` operations at once after half a minute, of an N beyond the ramp's first minute."""
    return [tried(0, 1, 0, seconds, n=400), *(tried(seq, 1, 30, seconds, n=400) for seq in range(1, peak))]


REFUSED = {"error_type": "SlowDown", "error_message": "GetObject 503 SlowDown: S3 throttled every attempt"}
OTHER = {"error_type": "S3Error", "error_message": "GetObject 418 Teapot: short and stout"}
SOON = [tried(0, 1, 1, 2, "error"), tried(0, 2, 5, 6)]
LATE = [tried(1, 1, 1, 2, "error"), tried(1, 2, 400, 401)]
# By check, what holds and what contradicts.
OCCASIONS = {
    "redelivery": (SOON + LATE, LATE),  # one waits long for its turn where others come back soon
    "trigger-ramp": (ramp(300), ramp(100)),
    "codes": ([tried(0, 1, 1, 2, "error", **REFUSED)], [tried(0, 1, 1, 2, "error", **OTHER)]),
    "logs-late": (600_000, 600_100),
}


@pytest.mark.parametrize("check", OCCASIONS)
@pytest.mark.parametrize(("outcome", "which"), [(HELD, 0), (CONTRADICTED, 1)])
def test_a_run_holds_or_contradicts(check, outcome, which, stack, folder):
    occasion = OCCASIONS[check][which]
    assert checked(stack, folder, **{"records" if check != "logs-late" else "latest_ms": occasion})[check] == outcome


def test_a_batch_is_one_invocation_of_the_ramp(stack, folder):
    batches = [{**record, "batch": 3, "batch_index": index} for record in ramp(100) for index in range(3)]
    assert checked(stack, folder, batches)["trigger-ramp"] == CONTRADICTED


def test_with_provisioned_pollers_no_ramp_is_judged(stack, folder):
    values = {"provisioned_pollers": {"minimum": 2, "maximum": 10}}
    cells = [Cell("b", {"provisioned_pollers": None}, ()), Cell("a", values, ())]
    folder.write_json("run.json", {"format": FORMAT, "cells": [cell.as_json() for cell in cells]})
    assert checked(stack, folder, ramp(100))["trigger-ramp"] == NOT_MET


def test_of_queries_that_athena_carried_out_no_delivery_is_checked(stack, folder):
    folder.append("executions.jsonl", [{"cell": "a", "seq": 0, "state": "ended", "execution_id": "q"}])
    assert checked(stack, folder, SOON)["redelivery"] == NOT_MET


def test_a_drain_on_aws_notes_late_lines_and_one_of_a_whole_cell_checks_all(stack, folder):
    row = {"cell": "a", "seq": 0, "message_id": "m", "sent_at_ms": EPOCH_MS, "round": 1}
    folder.append("sent.jsonl", [row])
    stack.log(record(0, run_id=folder.run_id), at_s=1, seen_at_s=602)
    clock = {"clock": stack.clock, "sleep": stack.sleep}
    vars(stack)["kind"] = "local"
    wait_for_round(stack, folder, "a", 1, **clock)
    assert not (folder.path / FILE).exists()
    vars(stack)["kind"] = "aws"
    wait_for_round(stack, folder, "a", 1, **clock)
    stack.sleep(600)
    drain(stack, folder, quiet=True, **clock)
    assert folder.read_json(FILE) == {"latest_ms": 601_000}
    drain(stack, folder, **clock)
    assert "a log line is shown within 10 minutes" in contradictions(folder.path)[0]


def test_no_account_no_name_and_no_key_gets_into_the_file(stack, folder):
    planted = [
        {"error_type": "AccessDenied", "error_message": f"GetObject 403 AccessDenied: {' '.join(NAMES)}"},
        {"error_type": "S3Error", "error_message": f"GetObject 403 {SECRET}: no"},
        {"error_type": "AcmePayroll", "error_message": f"GetObject 403 {ACCOUNT}: {SECRET}"},
    ]
    own = {"cell": "acme-payroll", "experiment_tag": "jane.doe", "method": "acme-payroll", "sandbox_id": SECRET}
    vars(stack)["outputs"] |= {"account_id": ACCOUNT, "bucket_name": "acme-payroll"}
    checked(stack, folder, [tried(seq, 1, 1, 2, "error", **more | own) for seq, more in enumerate(planted)])
    written = (folder.path / FILE).read_text()
    assert [name for name in NAMES if name.lower() in written.lower()] == []
    assert '"AccessDenied 403 AccessDenied": 1' in written and '"other": 1' in written, "what is worth sending does"


def test_the_verb_prints_the_checks_of_one_run_and_names_the_runs_of_several(stack, folder, capsys):
    where = ["--results-dir", str(folder.path.parent), "--format", "json"]
    assert main(["evidence", folder.run_id, *where]) == 2
    assert "has no checks in an evidence.json" in capsys.readouterr().err
    checked(stack, folder, OCCASIONS["codes"][1])
    assert main(["evidence", folder.run_id, *where]) == 0
    [codes] = [row for row in json.loads(capsys.readouterr().out) if row["check"] == "codes"]
    assert (codes["outcome"], codes["figures"]) == (CONTRADICTED, "S3Error 418 Teapot 1")
    assert main(["evidence", folder.run_id, folder.run_id, *where]) == 0
    assert {row["run"] for row in json.loads(capsys.readouterr().out)} == {folder.run_id}
