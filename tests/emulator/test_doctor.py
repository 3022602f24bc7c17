"""`stampede doctor` against the real embedded AWS, as an account: an ordinary one and a new one."""

import contextlib
import json

import pytest

from stampede.cli.command_line import main
from stampede.emulator import ministack, stack
from stampede.stacks import endpoints
from tests.emulator.embedded_aws import client, embedded_aws, make_role, settings

EMPTY_ZIP = b"PK\x05\x06" + bytes(18)
SEEN_OF_THE_ACCOUNT = ("credentials", "concurrency", "leftovers")


@pytest.fixture
def account(tmp_path, monkeypatch):
    """An embedded AWS whose account has the given concurrency, and that stands for AWS in this
    shell."""

    @contextlib.contextmanager
    def start(concurrency):
        monkeypatch.setenv("LAMBDA_ACCOUNT_CONCURRENCY", str(concurrency))
        monkeypatch.setattr(endpoints, "is_aws", lambda url: True)
        monkeypatch.setattr(stack, "STATE_DIR", tmp_path)
        with embedded_aws(tmp_path) as running:
            monkeypatch.delenv("LAMBDA_ACCOUNT_CONCURRENCY")
            use(running.access)
            yield running.access

    def use(access):
        for name, value in access.environment.items():
            monkeypatch.setenv(name, value)

    start.use = use
    return start


@pytest.fixture
def findings(capsys):
    """The checks of the account, by name."""

    def ask(*assignments, target="aws"):
        main(
            ["doctor", "download", "--target", target, "--format", "json", *settings(*assignments)]
        )
        rows = {row["check"]: row for row in json.loads(capsys.readouterr().out)["checks"]}
        return {name: rows[name] for name in SEEN_OF_THE_ACCOUNT if name in rows}

    return ask


def test_an_ordinary_account_holds_the_matrix_and_what_is_left_or_unknown_is_said(
    account, findings
):
    with account(1000) as access:
        found = findings()
        assert (
            found["credentials"]["found"]
            == "account 000000000000 as arn:aws:iam::000000000000:root"
        )
        assert [found[name]["status"] for name in SEEN_OF_THE_ACCOUNT] == ["ok"] * 3

        functions, iam, name = (
            client("lambda", access),
            client("iam", access),
            {"FunctionName": "stampede-download"},
        )
        runs = {"Runtime": "python3.12", "Handler": "i.h", "Role": make_role(iam, "worker")}
        functions.create_function(Code={"ZipFile": EMPTY_ZIP}, **name, **runs)
        functions.put_function_concurrency(ReservedConcurrentExecutions=900, **name)
        found = findings()
        assert "stampede-download (reserves 900)" in found["leftovers"]["found"]
        assert found["concurrency"]["status"] == "ok"  # its 900 go back when it gets another N

        iam.create_user(UserName="poor")
        key = iam.create_access_key(UserName="poor")["AccessKey"]
        account.use(
            ministack.Access(access.endpoint_url, key["AccessKeyId"], key["SecretAccessKey"])
        )
        found = findings()
        assert found["credentials"]["found"].endswith(":user/poor")
        assert [found[name]["status"] for name in SEEN_OF_THE_ACCOUNT] == [
            "ok",
            "warning",
            "warning",
        ]
        assert (
            found["leftovers"]["found"] == "unknown: ListFunctions answered AccessDeniedException"
        )


def test_a_new_account_of_10_can_reserve_nothing_and_runs_10_at_once(account, findings, capsys):
    with account(10):
        concurrency = findings("concurrency_value=1")["concurrency"]
        assert concurrency["status"] == "problem"
        assert "the account's concurrency limit is 10," in concurrency["found"]
        assert "--quota-code L-B99A9384 --desired-value 1000" in concurrency["way_out"]
        assert main(["sweep", "download", "--target", "aws", *settings("concurrency_value=1")]) == 2
        assert "1 needed, 0 can be reserved" in capsys.readouterr().err
        assert findings("concurrency_value=10", target="local")["concurrency"]["status"] == "ok"
        assert (
            findings("concurrency_value=11", target="local")["concurrency"]["status"] == "problem"
        )
