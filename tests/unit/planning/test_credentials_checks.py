"""Credentials that end before the run does: what is known of each kind is reported, and what can't be isn't made up."""

import hashlib
import json
from datetime import UTC, datetime, timedelta

import pytest
from botocore.credentials import SSOProvider

from experiments import EXPERIMENTS
from stampede.finding import OK, PROBLEM, WARNING
from stampede.planning import checks
from stampede.planning.checks import credentials
from stampede.planning.plan import make_plan

HOUR_S = 3600.0


def in_minutes(count):
    return (datetime.now(UTC) + timedelta(minutes=count, seconds=20)).isoformat()


@pytest.fixture
def shell(monkeypatch, tmp_path):
    """A shell without AWS settings, to be given some: shell(config=, stored=, **environ)."""
    for name in (*credentials.EXPIRATIONS, "AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setattr(SSOProvider, "_SSO_TOKEN_CACHE_DIR", str(tmp_path / "sso"))

    def configure(config="", stored="", **environ):
        (tmp_path / "config").write_text(config)
        (tmp_path / "credentials").write_text(stored)
        for name, value in environ.items():
            monkeypatch.setenv(name, value)

    return configure


@pytest.fixture
def sign_in(tmp_path):
    """Store what `aws sso login` leaves: a token by the sign-in's name, which may be renewed or not."""

    def store(name, expires_at, **more):
        (tmp_path / "sso").mkdir(exist_ok=True)
        token = {"accessToken": "t", "expiresAt": expires_at, **more}
        (tmp_path / "sso" / f"{hashlib.sha1(name.encode()).hexdigest()}.json").write_text(json.dumps(token))

    return store


KEYS = {"AWS_ACCESS_KEY_ID": "AKIA", "AWS_SECRET_ACCESS_KEY": "s"}
HELD = KEYS | {"AWS_SESSION_TOKEN": "t"}
STORED = "[default]\naws_access_key_id = AKIA\naws_secret_access_key = s\n"


def test_keys_without_a_token_have_no_end(shell):
    shell(**KEYS)
    assert credentials.lifetime(100 * HOUR_S).status == OK


@pytest.mark.parametrize("name", credentials.EXPIRATIONS)
def test_a_token_in_the_environment_that_ends_before_the_run_is_a_warning_with_time_and_fix(shell, name):
    shell(**HELD, **{name: in_minutes(24)})
    finding = credentials.lifetime(43 * 60)
    assert finding.status == WARNING
    assert "UTC, in 24 min; the run takes about 43 min" in finding.found
    assert "`aws sso login`" in finding.way_out
    assert credentials.lifetime(23 * 60).status == OK


def test_a_token_of_unknown_expiry_is_a_warning_for_a_run_of_more_than_an_hour(shell):
    shell(**HELD)
    assert credentials.lifetime(HOUR_S).status == OK
    finding = credentials.lifetime(HOUR_S + 1)
    assert (finding.status, "session token without a known expiry" in finding.found) == (WARNING, True)


@pytest.mark.parametrize("name", credentials.PROFILE_EXPIRATIONS)
def test_the_expiry_that_sign_in_tools_note_in_the_profile_is_read(shell, name):
    shell(stored=f"{STORED}aws_session_token = t\n{name} = {in_minutes(30)}\n")
    assert "in 30 min" in credentials.lifetime(HOUR_S).found
    assert credentials.lifetime(HOUR_S).status == WARNING


ROLE = "[profile work]\nrole_arn = arn:aws:iam::123456789012:role/r\nsource_profile = default\n"


def test_a_role_taken_on_with_keys_is_renewed_and_one_that_asks_for_a_code_is_not(shell):
    shell(config=ROLE, stored=STORED, AWS_PROFILE="work")
    assert credentials.lifetime(10 * HOUR_S).status == OK
    shell(config=f"{ROLE}mfa_serial = arn:aws:iam::123456789012:mfa/me\nduration_seconds = 7200\n", stored=STORED)
    assert credentials.lifetime(1.9 * HOUR_S).status == OK
    assert credentials.lifetime(2.1 * HOUR_S).status == WARNING


LEGACY = "[profile work]\nsso_start_url = https://x\nsso_region = us-east-1\nsso_account_id = 1\nsso_role_name = r\n"
SESSION = (
    "[sso-session s]\nsso_start_url = https://x\nsso_region = us-east-1\n"
    "[profile work]\nsso_session = s\nsso_account_id = 123456789012\nsso_role_name = r\n"
)


def test_a_sign_in_ends_with_its_token_unless_that_can_be_renewed(shell, sign_in):
    shell(config=LEGACY, AWS_PROFILE="work")
    sign_in("https://x", in_minutes(30))
    assert credentials.lifetime(HOUR_S).status == WARNING
    assert "in 30 min" in credentials.lifetime(HOUR_S).found
    shell(config=SESSION)
    sign_in("s", in_minutes(30), refreshToken="r", clientId="c", clientSecret="s")
    assert credentials.lifetime(HOUR_S).status == OK


def test_a_role_taken_on_from_a_sign_in_ends_with_that(shell, sign_in):
    sign_in("https://x", in_minutes(30))
    shell(config=f"{LEGACY}[profile deep]\nrole_arn = a\nsource_profile = work\n", AWS_PROFILE="deep")
    assert credentials.lifetime(HOUR_S).status == WARNING


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "soon",
            "AWS_CREDENTIAL_EXPIRATION must be a time with its time zone, such as 2026-11-21T19:00:00Z, got 'soon'",
        ),
        ("2026-01-01T00:00:00", "must be a time with its time zone"),
        ("2020-01-01T00:00:00Z", "this shell's credentials expired at 2020-01-01T00:00:00Z"),
    ],
)
def test_an_expiry_that_botocore_cannot_use_is_a_problem_in_one_line(shell, text, words):
    shell(**HELD, AWS_CREDENTIAL_EXPIRATION=text)
    plan = make_plan(EXPERIMENTS["download"], "aws", [], messages_per_concurrency=10)
    [finding] = checks.run(plan, [checks.ACCOUNT])
    assert (finding.check, finding.status) == ("credentials", PROBLEM)
    assert finding.found.startswith(words) or words in finding.found
    assert "\n" not in finding.sentence
