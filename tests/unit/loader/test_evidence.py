"""How a run checks the assumptions about AWS: each check may hold, be contradicted or have no
occasion, and the file contains no user-defined name."""

import pytest

from loader import evidence
from stampede.cell import FORMAT, Cell
from stampede.runs.evidence import ASSUMPTIONS, CONTRADICTED, FILE, HELD, NOT_MET, rows
from tests.evidence import BOOK
from tests.fakes.simulated_aws import EPOCH_MS

SECRET = "AKIAIOSFODNN7EXAMPLE"
NAMES = [
    "123456789012",
    SECRET,
    "acme-payroll",
    "AcmePayroll",
    "wJalrXUtnFEMI",
    "jane.doe",
    "arn:aws",
]


@pytest.fixture(autouse=True)
def described(aws, folder):
    folder.write_json("run.json", {"experiment": "download"})
    aws.outputs.update(
        experiment="download", account_id=NAMES[0], bucket_name=NAMES[2], log_group_name=NAMES[2]
    )


@pytest.fixture
def checked(aws, folder):
    """Returns the outcome of every check, by id, for a run with these records."""

    def check(records=(), latest_ms=-1):
        folder.append("records.jsonl", records)
        evidence.check_run(aws, folder, latest_ms)
        return {row["check"]: row["outcome"] for row in rows(folder.read_json(FILE))}

    return check


def tried(seq, attempt, from_s, to_s, status="ok", n=5, **more):
    """A record of one delivery."""
    times = {"started_at_ms": EPOCH_MS + from_s * 1000, "finished_at_ms": EPOCH_MS + to_s * 1000}
    return {
        "cell": "a",
        "seq": seq,
        "attempt": attempt,
        "status": status,
        "concurrency_limit": n,
        **times,
        **more,
    }


def test_the_book_and_the_code_have_the_same_checks(checked):
    assert {row["checked"] for row in BOOK["assumption"] if "checked" in row} == ASSUMPTIONS.keys()
    assert checked() == dict.fromkeys(ASSUMPTIONS, NOT_MET)


def ramp(peak):
    """`peak` concurrent operations after half a minute, for an N beyond the ramp's first minute."""
    return [tried(seq, 1, 30 * bool(seq), 100, n=400) for seq in range(peak)]


def refused(error_type, message):
    return [
        tried(0, 1, 1, 2, "error", error_type=error_type, error_message=f"GetObject {message}: why")
    ]


SOON = [tried(0, 1, 1, 2, "error"), tried(0, 2, 5, 6)]
LATE = [tried(1, 1, 1, 2, "error"), tried(1, 2, 400, 401)]
# For each check, records that hold and records that contradict.
OCCASIONS = {
    "redelivery": (SOON + LATE, LATE),  # one waits long for its turn while others return soon
    "trigger-ramp": (ramp(300), ramp(100)),
    "codes": (refused("SlowDown", "503 SlowDown"), refused("S3Error", "418 Teapot")),
    "logs-late": (600_000, 600_100),
}


@pytest.mark.parametrize("check", OCCASIONS)
@pytest.mark.parametrize(("outcome", "which"), [(HELD, 0), (CONTRADICTED, 1)])
def test_a_run_confirms_or_contradicts(check, outcome, which, checked):
    name = "latest_ms" if check == "logs-late" else "records"
    assert checked(**{name: OCCASIONS[check][which]})[check] == outcome


def test_the_longest_delay_of_all_drains_counts(checked):
    checked(latest_ms=600_100)
    assert checked(latest_ms=5)["logs-late"] == CONTRADICTED


def test_a_batch_is_one_invocation_of_the_ramp(checked):
    batches = [
        {**record, "batch": 3, "batch_index": index} for record in ramp(100) for index in range(3)
    ]
    assert checked(batches)["trigger-ramp"] == CONTRADICTED


def test_provisioned_pollers_have_no_ramp_and_athena_queries_no_delivery_to_judge(checked, folder):
    cells = [Cell("b", {"provisioned_pollers": {"minimum": 2, "maximum": 10}}, ()).as_json()]
    folder.write_json("run.json", {"format": FORMAT, "cells": cells})
    assert checked(ramp(100))["trigger-ramp"] == NOT_MET
    folder.append(
        "executions.jsonl", [{"cell": "a", "seq": 0, "state": "ended", "execution_id": "q"}]
    )
    assert checked(SOON)["redelivery"] == NOT_MET


def test_the_file_contains_no_account_name_or_key(checked, folder):
    own = {"experiment_tag": "jane.doe", "method": "acme-payroll", "sandbox_id": SECRET}
    planted = refused("AccessDenied", f"403 AccessDenied: {NAMES}") + refused(
        "AcmePayroll", f"403 {SECRET}"
    )
    checked([row | own for row in planted])
    written = (folder.path / FILE).read_text()
    assert [name for name in NAMES if name.lower() in written.lower()] == []
    assert '"AccessDenied 403 AccessDenied": 1' in written and '"other' in written
