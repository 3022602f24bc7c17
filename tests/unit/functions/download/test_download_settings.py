"""The settings: read from the environment, refused with one line naming the variable; and the
retries agreed on."""

import json

import botocore
import pytest
from botocore.awsrequest import AWSResponse
from botocore.retries import standard as botocores
from botocore.retries.quota import RetryQuota

from common.deadline import GRACE_S, MARGIN_S
from common.environment import SettingsError
from common.get_object import pause_s
from common.s3_client import ATTEMPTS, RETRY_MODE
from download import ranges
from download.settings import Settings, read_settings
from stampede.model.retries import AGREED, ours, rules_of
from tests.unit.functions.lambda_sandbox import ENVIRONMENT

FUNCTIONS_TIMEOUT_S = 60  # as published


def test_the_published_environment_is_read_and_the_rest_has_its_defaults():
    empty = dict.fromkeys(("METHOD", "SINK", "RANGE_PARALLEL", "RANGE_PART_MB"), "")
    labels = (5, 1024, "experiment 01", "download_file", "stampede-test")
    settings = Settings(*labels, ENVIRONMENT["FILE_NAME"], "us-east-1", "tmp", 8, 16)
    assert read_settings(ENVIRONMENT) == read_settings(ENVIRONMENT | empty) == settings


WRONG = {
    **dict.fromkeys(("BUCKET_NAME", "FILE_NAME"), ("",)),
    "CONCURRENCY_LIMIT": ("", "0", "+5", "1_000", "٣", "9" * 10),
    "MEMORY_SIZE": ("127", "10241"),
    # What the published expression couldn't read.
    "EXPERIMENT_TAG": ('with "quotes"', "back\\slash", "two\nlines", "x" * 257),
    "METHOD": ("go_stream", "x" * 500),
    "SINK": ("memory",),  # of download_file
    "RANGE_PARALLEL": ("0", "65"),
    "RANGE_PART_MB": ("15", "65"),
    "REQUESTER_PAYS": ("yes",),
    "AWS_DEFAULT_REGION": ("",),
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in WRONG.items() for value in values]
)
def test_a_missing_or_wrong_variable_is_refused_by_name_in_one_line(name, value):
    with pytest.raises(SettingsError, match=name) as caught:
        read_settings(ENVIRONMENT | {"AWS_REGION": "", name: value})
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) <= 300


def test_the_client_of_ranges_has_a_connection_for_each_thread_and_the_timeouts_agreed_on(
    sandbox_environment,
):
    settings = read_settings(ENVIRONMENT | {"METHOD": "ranges", "RANGE_PARALLEL": "64"})
    config = ranges.build_client(settings).meta.config
    assert config.max_pool_connections == 64
    assert config.response_checksum_validation == "when_required"
    agreed = json.loads(AGREED.with_name("timeouts.json").read_text())
    assert (agreed["connect_s"], agreed["read_s"]) == (config.connect_timeout, config.read_timeout)
    assert (agreed["deadline_margin_s"], agreed["deadline_grace_s"]) == (MARGIN_S, GRACE_S)
    waits_s = sum(2 ** (retry - 1) for retry in range(1, ATTEMPTS))
    assert max(waits_s, config.connect_timeout) + config.read_timeout < FUNCTIONS_TIMEOUT_S


def test_the_retries_that_both_languages_agreed_on_are_those_of_botocores_standard_mode(
    monkeypatch,
):
    agreed = json.loads(AGREED.read_text())
    transient, throttled = botocores.TransientRetryableChecker, botocores.ThrottledRetryableChecker
    assert (agreed["mode"], agreed["attempts"]) == (RETRY_MODE, ATTEMPTS)
    assert agreed["statuses"] == transient._TRANSIENT_STATUS_CODES
    assert agreed["codes"] == sorted(
        {*transient._TRANSIENT_ERROR_CODES, *throttled._THROTTLED_ERROR_CODES}
    )
    monkeypatch.setattr("common.get_object.random.random", lambda: 1.0)
    assert [pause_s(tries) for tries in (1, 2, 3)] == [
        ours().first_pause_s * factor for factor in (1, 2, 4)
    ]


def answer(status: int, code: str, **headers: str) -> botocores.RetryContext:
    """botocore's view of a first try that S3 answered so."""
    parsed = {"Error": {"Code": code}}
    return botocores.RetryContext(1, None, parsed, AWSResponse("", status, headers, None), None, {})


# botocore 1.43.106 has the rules of 2026 too, behind a switch that 1.44.0 no longer has.
@pytest.mark.parametrize("sdk", ["botocore 1.43.106", "botocore 1.44.0"])
def test_the_agreed_rules_are_botocores_costs_and_pauses(monkeypatch, sdk):
    rules, of_2026 = rules_of(sdk), sdk == "botocore 1.44.0"
    monkeypatch.setattr(botocores, "NEW_RETRIES_ENABLED", of_2026)
    throttles = botocores.ThrottlingErrorDetector(botocores.RetryEventAdapter())
    backoff = botocores.ExponentialBackoff(
        random=lambda: 1.0, service_name="s3", throttling_detector=throttles
    )
    slow_down, error = answer(503, "SlowDown"), answer(500, "InternalError")
    silent = botocores.RetryContext(
        1, None, None, None, botocores.ReadTimeoutError(endpoint_url=""), {}
    )
    quota = RetryQuota()
    checker = botocores.RetryQuotaChecker(quota, throttles)
    costs = []
    for context in (slow_down, error, silent):
        before = quota.available_capacity
        assert checker.acquire_retry_quota(context)
        costs.append(before - quota.available_capacity)
    assert costs == [rules.throttle_cost, rules.retry_cost, rules.timeout_cost]
    assert (rules.tokens, rules.success_gain) == (
        RetryQuota.INITIAL_CAPACITY,
        checker._NO_RETRY_INCREMENT,
    )
    first_pauses_s = (rules.throttle_first_pause_s, rules.first_pause_s)
    assert (backoff.delay_amount(slow_down), backoff.delay_amount(error)) == first_pauses_s
    asked_to_wait = answer(503, "SlowDown", **{"x-amz-retry-after": "3000"})
    assert backoff.delay_amount(asked_to_wait) == (
        3 if rules.retry_after_header else rules.throttle_first_pause_s
    )


def test_the_rules_of_an_sdk_are_those_of_its_version():
    assert rules_of(f"botocore {botocore.__version__}") == rules_of("none") == ours()
    assert rules_of("botocore 1.44.0rc1") == rules_of("botocore 1.50.2") != ours()
    assert {rules_of(sdk) for sdk in ("botocore 1.14.9", "awscrt 0.36.0", "botocore")} == {None}
