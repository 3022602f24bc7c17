"""Checks of the credentials: whose they are, and whether they last as long as the run.

What botocore renews by itself (roles of machines and containers, a role taken on with keys, a credential_process) has
no end here. An end is known of what a shell or a profile holds ready, and of a sign-in that only the user can renew.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import botocore.session
from botocore.credentials import JSONFileCache, SSOProvider
from botocore.exceptions import BotoCoreError, ClientError
from botocore.utils import SSOTokenLoader
from dateutil import parser

from stampede.errors import UsageError
from stampede.finding import OK, PROBLEM, WARNING, Finding
from stampede.phrases import minutes
from stampede.planning.checks.asking import NOT_THAT_SERVICE, Account
from stampede.stacks.target import HOW_TO_SIGN_IN, explain

# The one that botocore reads, and the one that aws-vault and granted set.
EXPIRATIONS = ("AWS_CREDENTIAL_EXPIRATION", "AWS_SESSION_EXPIRATION")
# What saml2aws and aws-azure-login note beside the token they put into a profile; botocore reads neither.
PROFILE_EXPIRATIONS = ("x_security_token_expires", "aws_expiration")
# Of AssumeRole, where the profile has no duration_seconds (STS API reference).
ROLE_DURATION_S = 3600
LONG_RUN_S = 3600
RENEW = "renew it first (`aws sso login`, or whatever gave you the token), or ask for a longer session"


def identity(account: Account) -> Finding:
    """Who we are, as STS says. Without that nothing else can be asked."""
    if (unusable := _unusable_expiration(os.environ)) is not None:
        return unusable
    try:
        answer = account.client("sts").get_caller_identity()
    except UsageError as error:
        return Finding("credentials", PROBLEM, error.found, error.way_out or "correct the region")
    except (BotoCoreError, ClientError) as error:
        failure = explain(error, "checking the credentials", account.target)
        return Finding("credentials", PROBLEM, failure.found, failure.way_out or HOW_TO_SIGN_IN)
    except NOT_THAT_SERVICE:
        answer = {}
    if not answer.keys() >= {"Account", "Arn"}:
        problem = f"the answer at {account.target.url_of('sts') or 'AWS'} isn't from STS"
        return Finding("credentials", PROBLEM, problem, "correct AWS_ENDPOINT_URL")
    return Finding("credentials", OK, f"account {answer['Account']} as {answer['Arn']}")


def lifetime(run_s: float) -> Finding:
    """Whether this shell's credentials end before a run of `run_s` seconds does, as far as that can be known."""
    now = datetime.now(UTC)
    session = botocore.session.get_session()
    credentials = session.get_credentials()
    profiles = list(_profiles(session))
    ends = [_given_end(credentials, profiles, os.environ), *_sign_in_ends(credentials, profiles, now)]
    if ends := [end for end in ends if end is not None]:
        end, left_s = min(ends), (min(ends) - now).total_seconds()
        at = f"{end.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
        expiry = f"expires at {at}, in {minutes(left_s)}; the run takes about {minutes(run_s)}"
        return Finding("session", OK, expiry) if left_s > run_s else Finding("session", WARNING, expiry, RENEW)
    is_held = credentials.method in ("env", "shared-credentials-file", "config-file")
    if not is_held or not credentials.token:
        return Finding("session", OK, f"no expiry is known ({credentials.method})")
    token = "a session token without a known expiry"
    if run_s > LONG_RUN_S:
        return Finding("session", WARNING, f"{token}, and the run takes about {minutes(run_s)}", RENEW)
    return Finding("session", OK, token)


def _given_end(credentials: Any, profiles: list[Mapping[str, Any]], environ: Mapping[str, str]) -> datetime | None:
    """The end of credentials that this shell's environment or the profile holds, where it is noted beside them."""
    if credentials.method == "env":
        noted = [environ.get(name) for name in EXPIRATIONS]
    elif credentials.method in ("shared-credentials-file", "config-file"):
        noted = [profiles[0].get(name) for name in PROFILE_EXPIRATIONS] if profiles else []
    else:
        noted = []
    return next((moment for text in noted if (moment := _moment(text)) is not None), None)


def _sign_in_ends(credentials: Any, profiles: list[Mapping[str, Any]], now: datetime) -> Iterator[datetime | None]:
    """When the user has to sign in again: with a code for a role that asks for one, or in the browser."""
    if credentials.method not in ("assume-role", "sso"):
        return
    for profile in profiles:
        if "mfa_serial" in profile and "role_arn" in profile:
            yield now + timedelta(seconds=int(profile.get("duration_seconds", ROLE_DURATION_S)))
        if "sso_start_url" in profile:
            yield _sso_end(profile)


def _sso_end(profile: Mapping[str, Any]) -> datetime | None:
    """The end of a sign-in; None where it can be renewed without the user, for how long AWS doesn't tell."""
    tokens = SSOTokenLoader(cache=JSONFileCache(SSOProvider._SSO_TOKEN_CACHE_DIR))
    try:
        token = tokens(profile["sso_start_url"], session_name=profile.get("sso_session"))
    except BotoCoreError:
        return None  # no sign-in at all: asking who we are has told
    return None if "refreshToken" in token else _moment(token.get("expiresAt"))


def _profiles(session: botocore.session.Session) -> Iterator[dict[str, Any]]:
    """The profile in use and those that it builds on, each with its sso-session's settings in it."""
    stored, name, seen = session.full_config, session.get_config_variable("profile") or "default", set()
    while name in stored.get("profiles", {}) and name not in seen:
        seen.add(name)
        profile = stored["profiles"][name]
        yield {**stored.get("sso_sessions", {}).get(profile.get("sso_session"), {}), **profile}
        name = profile.get("source_profile")


def _unusable_expiration(environ: Mapping[str, str]) -> Finding | None:
    """An AWS_CREDENTIAL_EXPIRATION that is past or no time with a zone: botocore has only Python's errors for those."""
    name = EXPIRATIONS[0]
    text = environ.get(name)
    if not text or not environ.get("AWS_ACCESS_KEY_ID"):
        return None
    moment = _moment(text, assume_utc=False)
    if moment is None or moment.tzinfo is None:
        problem = f"{name} must be a time with its time zone, such as 2026-11-21T19:00:00Z, got {text!r}"
        return Finding("credentials", PROBLEM, problem, "correct it, or unset it")
    if moment <= datetime.now(UTC):
        return Finding("credentials", PROBLEM, f"this shell's credentials expired at {text} ({name})", "renew them")
    return None


def _moment(text: str | None, *, assume_utc: bool = True) -> datetime | None:
    """A time as tools write it (ISO 8601 and its relatives); None for what isn't one."""
    try:
        moment = parser.parse(str(text))
    except (ValueError, OverflowError):
        return None
    return moment.replace(tzinfo=UTC) if assume_utc and moment.tzinfo is None else moment
