"""The request of our own HTTP: signed and addressed exactly as boto3 does it."""

import datetime
import json
from pathlib import Path

import botocore
import pytest
from botocore import auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotoCredentials
from hypothesis import given
from hypothesis import strategies as st

from common.endpoint import dns_suffix, locate
from common.environment import SettingsError
from common.failures import NoCredentials
from common.s3_client import build_client
from common.sigv4 import Credentials, read_credentials, signed_headers
from tests.unit.functions.lambda_sandbox import set_environment

# By region, one of each partition.
AGREED_DNS_SUFFIXES = json.loads((Path(__file__).parents[4] / "functions" / "agreed" / "dns_suffixes.json").read_text())
PARTITIONS = json.loads((Path(botocore.__file__).parent / "data" / "partitions.json").read_text())["partitions"]
NOW_S = 1_735_689_600
# As S3 allows them in a key, and what a URL must not hold as it is.
KEYS = ["sample_large_file.dat", "folder/a b+c&d=e?f#g%h", "ä/日本.dat", "~tilde-_.dat", "a//b", "'(quoted)*!"]


def authorization_of_botocore(host, path, token, monkeypatch, body=b"", headers=None):
    class Clock(datetime.datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.datetime.fromtimestamp(NOW_S, tz)

        @classmethod
        def utcnow(cls):
            return datetime.datetime.fromtimestamp(NOW_S, datetime.UTC).replace(tzinfo=None)

    if hasattr(auth, "get_current_datetime"):
        monkeypatch.setattr(auth, "get_current_datetime", lambda *_: Clock.utcnow())
    else:
        monkeypatch.setattr(auth.datetime, "datetime", Clock)
    request = AWSRequest("POST" if body else "GET", f"https://{host}{path}", headers=headers or {}, data=body)
    request.context["payload_signing_enabled"] = True
    signing, service = (auth.SigV4Auth, "sqs") if body else (auth.S3SigV4Auth, "s3")
    signing(BotoCredentials("AKID", "secret", token), service, "eu-west-1").add_auth(request)
    return dict(request.headers)


@pytest.mark.parametrize("token", [None, "session//token=="])
@pytest.mark.parametrize("key", KEYS)
def test_the_signature_is_the_one_that_botocore_makes(monkeypatch, key, token):
    address = locate("bucket", key, "eu-west-1", {})
    ours = signed_headers(address.host_header, address.path, "eu-west-1", Credentials("AKID", "secret", token), NOW_S)
    theirs = authorization_of_botocore(address.host_header, address.path, token, monkeypatch)
    assert ours["x-amz-date"] == theirs["X-Amz-Date"] == "20250101T000000Z"
    assert ours["authorization"] == theirs["Authorization"]
    assert ours.get("x-amz-security-token") == token


def test_the_signature_of_a_request_with_a_query_is_the_one_that_botocore_makes(monkeypatch):
    address = locate("bucket", "", "eu-west-1", {})
    query = "continuation-token=a%2Fb%2Bc%3D%3D&encoding-type=url&list-type=2&prefix=small%2F"
    credentials = Credentials("AKID", "secret", None)
    ours = signed_headers(address.host_header, address.path, "eu-west-1", credentials, NOW_S, query)
    theirs = authorization_of_botocore(address.host_header, f"{address.path}?{query}", None, monkeypatch)
    assert ours["authorization"] == theirs["Authorization"]


def test_the_signature_of_a_call_with_a_body_is_the_one_that_botocore_makes(monkeypatch):
    request = {"service": "sqs", "body": b'{"VisibilityTimeout": 2}', "target": "AmazonSQS.ChangeMessageVisibility"}
    ours = signed_headers("sqs.test", "/", "eu-west-1", Credentials("AKID", "secret", "token=="), NOW_S, **request)
    headers = {"x-amz-target": request["target"], "x-amz-content-sha256": ours["x-amz-content-sha256"]}
    theirs = authorization_of_botocore("sqs.test", "/", "token==", monkeypatch, body=request["body"], headers=headers)
    assert ours["authorization"] == theirs["Authorization"]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(
    ("bucket", "region", "endpoint"),
    [
        ("bucket", "eu-west-1", None),
        *(("bucket", region, None) for region in AGREED_DNS_SUFFIXES if region != "us-east-1"),
        ("bucket.with.dots", "eu-west-1", None),
        ("bucket", "us-east-1", "http://127.0.0.1:4566"),
        ("bucket", "us-east-1", "http://localhost:4566/"),
        ("bucket", "us-east-1", "https://s3.example.com"),
    ],
)
def test_the_url_is_the_one_that_boto3_asks(monkeypatch, tmp_path, bucket, region, endpoint, key):
    set_environment(monkeypatch, tmp_path)
    environ = {}
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    if endpoint:
        environ = {"AWS_ENDPOINT_URL": endpoint}
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    urls = []

    def look(request, **_):
        urls.append(request.url)
        raise InterruptedError

    client = build_client(region)
    client.meta.events.register("before-send.s3", look)
    with pytest.raises(InterruptedError):
        client.get_object(Bucket=bucket, Key=key)
    address = locate(bucket, key, region, environ)
    assert f"{'https' if address.is_tls else 'http'}://{address.host_header}{address.path}" == urls[0]


@pytest.mark.parametrize("partition", PARTITIONS, ids=lambda partition: partition["id"])
def test_every_region_that_botocore_knows_has_the_suffix_of_its_partition(partition):
    suffix = partition["outputs"]["dnsSuffix"]
    regions = [region for region in partition["regions"] if not region.endswith("-global")]
    assert {dns_suffix(region) for region in regions} == {suffix}
    agreed = [region for region in AGREED_DNS_SUFFIXES if region in regions]
    assert [AGREED_DNS_SUFFIXES[region] for region in agreed] == [suffix], "one region of each partition is agreed on"


def test_the_endpoint_of_s3_comes_before_the_one_of_all_services():
    environ = {"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_ENDPOINT_URL_S3": "http://127.0.0.1:2"}
    assert locate("b", "k", "us-east-1", environ).port == 2


def test_an_ipv6_endpoint_keeps_its_brackets_in_the_header_only():
    address = locate("b", "k", "us-east-1", {"AWS_ENDPOINT_URL": "http://[::1]:4566"})
    assert (address.host, address.host_header) == ("::1", "[::1]:4566")


@pytest.mark.parametrize(
    "url", ["not a url", "127.0.0.1:4566", "ftp://host", "http://", "http://h:99999", "http://a\nb"]
)
def test_an_endpoint_that_is_no_url_is_refused_in_one_line(url):
    with pytest.raises(SettingsError) as caught:
        locate("b", "k", "us-east-1", {"AWS_ENDPOINT_URL": url})
    assert str(caught.value).startswith("the environment variable AWS_ENDPOINT_URL must be a URL")
    assert str(caught.value).isprintable()


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1, max_size=100))
def test_any_key_gives_a_path_that_is_one_word_of_ascii(key):
    path = locate("b", key, "us-east-1", {}).path
    assert path.isascii()
    assert path.isprintable()
    assert " " not in path


@pytest.mark.parametrize(
    "environ", [{}, {"AWS_ACCESS_KEY_ID": "a"}, {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": ""}]
)
def test_incomplete_credentials_are_none(environ):
    with pytest.raises(NoCredentials, match="AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"):
        read_credentials(environ)


def test_a_secret_is_never_shown():
    shown = repr(Credentials("AKID", "very-secret", "very-temporary"))
    assert "AKID" in shown
    assert "very" not in shown
