"""Checks of the credentials: whose they are, and whether they last as long as the run.

What botocore renews by itself (roles of machines and containers, a role taken on with keys, a credential_process) has
no end here. An end is known of what a shell holds ready, and of a sign-in that only the user can renew.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import botocore.session
from botocore.credentials import JSONFileCache, SSOProvider
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError
from botocore.utils import SSOTokenLoader
from dateutil import parser

from stampede.errors import UsageError
from stampede.finding import OK, PROBLEM, WARNING, Finding
from stampede.phrases import minutes
from stampede.stacks.target import HOW_TO_SIGN_IN, Target, explain

# The one that botocore reads, and the one that aws-vault and granted set.
EXPIRATIONS = ("AWS_CREDENTIAL_EXPIRATION", "AWS_SESSION_EXPIRATION")
# Of AssumeRole, where the profile has no duration_seconds (STS API reference).
ROLE_DURATION_S = 3600
LONG_RUN_S = 3600
RENEW = "renew it first (`aws sso login`, or whatever gave you the token), or ask for a longer session"


def identity(client: Callable[[str], Any], target: Target) -> Finding:
    """Who we are, as STS says. Without that nothing else can be asked."""
    if (unusable := _unusable_expiration()) is not None:
        return unusable
    try:
        answer = client("sts").get_caller_identity()
        return Finding("credentials", OK, f"account {answer['Account']} as {answer['Arn']}")
    except UsageError as error:
        return Finding("credentials", PROBLEM, error.found, error.way_out or "correct the region")
    except (BotoCoreError, ClientError) as error:
        failure = explain(error, "checking the credentials", target)
        return Finding("credentials", PROBLEM, failure.found, failure.way_out or HOW_TO_SIGN_IN)
    except (ResponseParserError, LookupError, ValueError, TypeError, AttributeError):
        problem = f"the answer at {target.url_of('sts') or 'AWS'} isn't from STS"
        return Finding("credentials", PROBLEM, problem, "correct AWS_ENDPOINT_URL")


def lifetime(run_s: float) -> Finding:
    """This shell's credentials last for a run of `run_s` seconds, as far as that can be known."""
    session, now = botocore.session.get_session(), datetime.now(UTC)
    credentials = session.get_credentials()
    ends = [end for end in _ends(session, credentials.method, now) if end is not None]
    is_held = credentials.method in ("env", "shared-credentials-file", "config-file")
    if ends:
        left_s = (min(ends) - now).total_seconds()
        found = f"expires at {min(ends).astimezone(UTC):%Y-%m-%d %H:%M} UTC, in {minutes(left_s)}"
        lasts = left_s > run_s
    else:
        found = "a session token without a known expiry"
        lasts = not (is_held and credentials.token) or run_s <= LONG_RUN_S
    if lasts:
        return Finding("session", OK)
    return Finding("session", WARNING, f"{found}; the run takes about {minutes(run_s)}", RENEW)


def _ends(session: botocore.session.Session, method: str, now: datetime) -> Iterator[datetime | None]:
    """When credentials of the environment end, as is noted there, and when the user has to sign in again: with a code
    for a role that asks for one, or in the browser."""
    if method == "env":
        yield next(filter(None, (_moment(os.environ.get(name)) for name in EXPIRATIONS)), None)
    if method not in ("assume-role", "sso"):
        return
    for profile in _profiles(session):
        if "mfa_serial" in profile and "role_arn" in profile:
            yield now + timedelta(seconds=int(profile.get("duration_seconds", ROLE_DURATION_S)))
        if "sso_start_url" in profile:
            tokens = SSOTokenLoader(cache=JSONFileCache(SSOProvider._SSO_TOKEN_CACHE_DIR))
            try:
                token = tokens(profile["sso_start_url"], session_name=profile.get("sso_session"))
            except BotoCoreError:
                continue  # no sign-in at all: asking who we are has told
            # One that can be renewed without the user lasts for as long as AWS doesn't tell.
            yield None if "refreshToken" in token else _moment(token.get("expiresAt"))


def _profiles(session: botocore.session.Session) -> Iterator[dict[str, Any]]:
    """The profile in use and those that it builds on, each with its sso-session's settings in it."""
    stored, name, seen = session.full_config, session.get_config_variable("profile") or "default", set()
    while name in stored.get("profiles", {}) and name not in seen:
        seen.add(name)
        profile = stored["profiles"][name]
        yield {**stored.get("sso_sessions", {}).get(profile.get("sso_session"), {}), **profile}
        name = profile.get("source_profile")


def _unusable_expiration() -> Finding | None:
    """An AWS_CREDENTIAL_EXPIRATION that is past or no time with a zone: botocore has only Python's errors for those."""
    name = EXPIRATIONS[0]
    text = os.environ.get(name)
    if not text or not os.environ.get("AWS_ACCESS_KEY_ID"):
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
