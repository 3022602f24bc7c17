"""The doctor asks an endpoint what it has, and says what of an experiment runs there."""

import json

import pytest

from stampede.cli.command_line import main
from stampede.finding import OK, PROBLEM, WARNING
from tests.localstack import starting

# Of `express`, which needs most.
STATUSES = {
    "ministack": {"Athena": OK, "Glue": OK, "functions": OK, "directory buckets": OK, "concurrency": OK},
    "localstack": {"Athena": PROBLEM, "Glue": PROBLEM, "directory buckets": PROBLEM, "concurrency": OK},
    "moto": {"Athena": OK, "Glue": OK, "functions": OK, "concurrency": WARNING},
}
EVERYWHERE = {"S3": OK, "SQS": OK, "Logs": OK, "IAM": OK, "saved queries": WARNING}

pytestmark = pytest.mark.skipif(
    starting.PYTHON is None, reason="seconds for what tests/unit/loader shows; `make test-localstack` does it"
)


@pytest.fixture
def doctor(endpoint, monkeypatch, capsys):
    """The doctor's exit status, and what it says by check, of an experiment at the endpoint."""
    for name, value in endpoint.access.environment.items():
        monkeypatch.setenv(name, value)

    def ask(experiment: str) -> tuple[int, dict[str, dict[str, str]]]:
        status = main(["doctor", experiment, "--target", "aws", "--format", "json"])
        return status, {finding["check"]: finding for finding in json.loads(capsys.readouterr().out)["checks"]}

    return ask


def test_the_doctor_finds_what_an_endpoint_has_and_what_of_an_experiment_does_not_run_there(endpoint, doctor):
    status, findings = doctor("express")
    assert findings["endpoint"]["found"].startswith(f"an endpoint at {endpoint.url}, which isn't AWS")
    expected = EVERYWHERE | STATUSES[endpoint.name]
    assert {name: findings[name]["status"] for name in expected} == expected
    assert (status == 1) == (PROBLEM in expected.values())


def test_an_endpoint_is_asked_for_the_account_that_the_figures_are_of(endpoint, doctor):
    _, findings = doctor("download")
    assert endpoint.account_id in findings["credentials"]["found"]
