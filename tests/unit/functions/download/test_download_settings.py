"""The settings: read from the environment, refused with one line naming the variable."""

import json

import botocore
import pytest
from botocore.awsrequest import AWSResponse
from botocore.retries import standard as theirs
from botocore.retries.quota import RetryQuota

from common.deadline import GRACE_S, MARGIN_S
from common.environment import SettingsError
from common.get_object import pause_s
from common.s3_client import ATTEMPTS, CONNECT_TIMEOUT_S, READ_TIMEOUT_S, RETRY_MODE, build_client
from download.settings import Settings, read_settings
from download.timed_download import retries_of
from stampede.model.retries import AGREED, ours, rules_of
from tests.unit.functions.lambda_sandbox import ENVIRONMENT, set_environment

PUBLISHED_TIMEOUT_S = 60


def refusal(**changes: str) -> str:
    with pytest.raises(SettingsError) as caught:
        read_settings(ENVIRONMENT | changes)
    message = str(caught.value)
    assert message.isprintable()
    assert len(message) <= 300
    return message


def test_the_published_environment_is_read():
    assert read_settings(ENVIRONMENT) == Settings(
        concurrency_limit=5,
        memory_size=1024,
        experiment_tag="experiment 01",
        method="download_file",
        bucket="stampede-test",
        key="folder/sample_large_file.dat",
        region="us-east-1",
    )


def test_without_a_method_it_is_the_published_one():
    settings = read_settings(ENVIRONMENT | {"METHOD": "", "SINK": ""})
    assert (settings.method, settings.sink) == ("download_file", "tmp")


@pytest.mark.parametrize(
    ("method", "sinks"),
    [
        ("download_file", ["tmp"]),
        ("stream", ["discard", "memory", "tmp"]),
        ("ranges", ["memory", "tmp", "discard"]),
    ],
)
def test_a_method_takes_its_sinks_and_the_first_is_its_default(method, sinks):
    for sink in sinks:
        settings = read_settings(ENVIRONMENT | {"METHOD": method, "SINK": sink})
        assert (settings.method, settings.sink) == (method, sink)
    assert read_settings(ENVIRONMENT | {"METHOD": method}).sink == sinks[0]


def test_download_file_writes_files_only():
    message = refusal(METHOD="download_file", SINK="memory")
    assert message == "the environment variable SINK must be tmp with METHOD=download_file, not 'memory'"


@pytest.mark.parametrize("changes", [{"METHOD": "Stream"}, {"METHOD": "go_stream"}, {"METHOD": "x" * 500}])
def test_a_method_that_is_none_is_refused_with_the_choice(changes):
    assert "METHOD must be download_file or stream or ranges" in refusal(**changes)


@pytest.mark.parametrize("sink", ["disk", "TMP", "/dev/null"])
def test_a_sink_that_is_none_is_refused_with_the_choice(sink):
    assert "SINK must be discard or memory or tmp with METHOD=stream" in refusal(METHOD="stream", SINK=sink)


def test_ranges_are_eight_of_16_mib_unless_said_otherwise():
    settings = read_settings(ENVIRONMENT | {"METHOD": "ranges", "RANGE_PARALLEL": ""})
    assert (settings.range_parallel, settings.range_part_mb) == (8, 16)
    settings = read_settings(ENVIRONMENT | {"METHOD": "ranges", "RANGE_PARALLEL": "64", "RANGE_PART_MB": "64"})
    assert (settings.range_parallel, settings.range_part_mb) == (64, 64)


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("RANGE_PARALLEL", "0", "from 1 to 64"),
        ("RANGE_PARALLEL", "65", "from 1 to 64"),
        ("RANGE_PARALLEL", "many", "from 1 to 64"),
        ("RANGE_PART_MB", "15", "from 16 to 64"),
        ("RANGE_PART_MB", "65", "from 16 to 64"),
        ("RANGE_PART_MB", "16.5", "from 16 to 64"),
    ],
)
def test_a_number_of_ranges_or_a_size_beyond_the_limits_is_refused(name, value, rule):
    assert f"{name} must be a whole number {rule}" in refusal(METHOD="ranges", **{name: value})


@pytest.mark.parametrize("name", ["CONCURRENCY_LIMIT", "MEMORY_SIZE", "EXPERIMENT_TAG", "BUCKET_NAME", "FILE_NAME"])
def test_a_missing_variable_is_named(name):
    environment = {key: value for key, value in ENVIRONMENT.items() if key != name}
    with pytest.raises(SettingsError, match=f"{name} is missing"):
        read_settings(environment)


def test_a_missing_region_is_named():
    environment = {key: value for key, value in ENVIRONMENT.items() if not key.endswith("_REGION")}
    with pytest.raises(SettingsError, match="REGION is missing"):
        read_settings(environment)


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "+5", "1_000", "five", " 5", "٣", "9" * 10])
def test_a_concurrency_that_is_not_a_number_from_1_is_refused(value):
    assert "CONCURRENCY_LIMIT must be a whole number from 1" in refusal(CONCURRENCY_LIMIT=value)


@pytest.mark.parametrize("value", ["127", "10241", "1e3"])
def test_a_memory_size_that_lambda_does_not_have_is_refused(value):
    assert "MEMORY_SIZE must be a whole number from 128 to 10240" in refusal(MEMORY_SIZE=value)


@pytest.mark.parametrize("value", ['with "quotes"', "back\\slash", "two\nlines", "x" * 257, "tab\t", "\u2028"])
def test_a_tag_that_the_published_expression_could_not_read_is_refused(value):
    assert "EXPERIMENT_TAG must be" in refusal(EXPERIMENT_TAG=value)


def test_a_tag_with_accents_is_taken():
    assert read_settings(ENVIRONMENT | {"EXPERIMENT_TAG": "première, n°1"}).experiment_tag == "première, n°1"


@pytest.fixture
def client_environment(monkeypatch, tmp_path):
    set_environment(monkeypatch, tmp_path)
    return monkeypatch


def requested_url(region: str) -> str:
    """Return the URL that the client would send a HEAD to; nothing is sent."""
    urls = []

    def look(request, **_):
        urls.append(request.url)
        raise InterruptedError

    client = build_client(region)
    client.meta.events.register("before-send.s3", look)
    with pytest.raises(InterruptedError):
        client.head_object(Bucket="bucket", Key="key")
    return urls[0]


def test_on_aws_the_bucket_is_in_the_host_name(client_environment):
    client_environment.delenv("AWS_ENDPOINT_URL")
    assert requested_url("eu-west-1") == "https://bucket.s3.eu-west-1.amazonaws.com/key"


def test_at_an_ip_address_the_bucket_is_in_the_path(client_environment):
    client_environment.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:4566")
    assert requested_url("eu-west-1") == "http://127.0.0.1:4566/bucket/key"


def test_an_endpoint_that_is_no_url_is_refused_by_name(client_environment):
    client_environment.setenv("AWS_ENDPOINT_URL", "not a url")
    with pytest.raises(SettingsError, match="AWS_ENDPOINT_URL"):
        build_client("us-east-1")


def test_retries_and_timeouts_fit_into_the_published_timeout(client_environment):
    config = build_client("us-east-1").meta.config
    assert (config.retries["mode"], config.retries["total_max_attempts"]) == ("standard", ATTEMPTS)
    assert (config.connect_timeout, config.read_timeout) == (CONNECT_TIMEOUT_S, READ_TIMEOUT_S)
    agreed = json.loads(AGREED.with_name("timeouts.json").read_text())
    assert (agreed["connect_s"], agreed["read_s"]) == (CONNECT_TIMEOUT_S, READ_TIMEOUT_S)
    assert (agreed["deadline_margin_s"], agreed["deadline_grace_s"]) == (MARGIN_S, GRACE_S)
    assert config.connect_timeout + config.read_timeout < PUBLISHED_TIMEOUT_S


def test_the_retries_that_both_languages_agreed_on_are_those_of_botocores_standard_mode(monkeypatch):
    agreed = json.loads(AGREED.read_text())
    transient, throttled = theirs.TransientRetryableChecker, theirs.ThrottledRetryableChecker
    assert (agreed["mode"], agreed["attempts"]) == (RETRY_MODE, ATTEMPTS)
    assert agreed["statuses"] == transient._TRANSIENT_STATUS_CODES
    assert agreed["codes"] == sorted({*transient._TRANSIENT_ERROR_CODES, *throttled._THROTTLED_ERROR_CODES})
    monkeypatch.setattr("common.get_object.random.random", lambda: 1.0)
    rules = ours()
    assert [pause_s(tries) for tries in (1, 2, 3)] == [rules.first_pause_s * factor for factor in (1, 2, 4)]


def answer(status: int, code: str, **headers: str) -> theirs.RetryContext:
    """botocore's view of a first try that S3 answered so."""
    parsed = {"Error": {"Code": code}}
    return theirs.RetryContext(1, None, parsed, AWSResponse("", status, headers, None), None, {})


# botocore 1.43.106 has the rules of 2026 too, behind a switch that 1.44.0 no longer has.
@pytest.mark.parametrize("sdk", ["botocore 1.43.106", "botocore 1.44.0"])
def test_the_agreed_rules_are_botocores_costs_and_pauses(monkeypatch, sdk):
    rules, of_2026 = rules_of(sdk), sdk == "botocore 1.44.0"
    monkeypatch.setattr(theirs, "NEW_RETRIES_ENABLED", of_2026)
    throttles = theirs.ThrottlingErrorDetector(theirs.RetryEventAdapter())
    backoff = theirs.ExponentialBackoff(random=lambda: 1.0, service_name="s3", throttling_detector=throttles)
    slow_down, error = answer(503, "SlowDown"), answer(500, "InternalError")
    silent = theirs.RetryContext(1, None, None, None, theirs.ReadTimeoutError(endpoint_url=""), {})
    quota = RetryQuota()
    checker = theirs.RetryQuotaChecker(quota, throttles)
    costs = []
    for context in (slow_down, error, silent):
        before = quota.available_capacity
        assert checker.acquire_retry_quota(context)
        costs.append(before - quota.available_capacity)
    assert costs == [rules.throttle_cost, rules.retry_cost, rules.timeout_cost]
    assert rules.tokens == RetryQuota.INITIAL_CAPACITY and rules.success_gain == checker._NO_RETRY_INCREMENT
    assert (backoff.delay_amount(slow_down), backoff.delay_amount(error)) == (
        rules.throttle_first_pause_s,
        rules.first_pause_s,
    )
    asked_to_wait = answer(503, "SlowDown", **{"x-amz-retry-after": "3000"})
    assert backoff.delay_amount(asked_to_wait) == (3 if rules.retry_after_header else rules.throttle_first_pause_s)


def test_the_rules_of_an_sdk_are_those_of_its_version():
    assert rules_of(f"botocore {botocore.__version__}") == rules_of("none") == ours()
    assert rules_of("botocore 1.44.0rc1") == rules_of("botocore 1.50.2") != ours()
    assert [rules_of(sdk) for sdk in ("botocore 1.14.9", "awscrt 0.36.0", "botocore", "")] == [None] * 4


@pytest.mark.parametrize(
    ("method", "expected"), [("download_file", ("standard", 4)), ("ranges", ("standard", 4)), ("crt", ("crt", 6))]
)
def test_a_method_says_the_retries_that_it_really_has(method, expected):
    assert tuple(retries_of(method).values())[:2] == expected


def test_the_waits_of_all_retries_fit_into_the_published_timeout():
    assert sum(2 ** (retry - 1) for retry in range(1, ATTEMPTS)) + READ_TIMEOUT_S < PUBLISHED_TIMEOUT_S
