"""The method `crt` asks for the address that boto3 asks for, and its runtime's errors have words of
ours."""

from dataclasses import replace

import pytest

from common.describing import describe
from common.s3_client import build_client
from download.crt import _address
from download.crt_failures import translate
from download.settings import read_settings
from tests.unit.functions.lambda_sandbox import ENVIRONMENT


@pytest.mark.parametrize("key", ["a b+c&d=e?f#g%h", "ä/日本.dat", "a//b"])
@pytest.mark.parametrize(
    ("bucket", "region", "endpoint"),
    [
        ("bucket", "cn-north-1", ""),
        ("bucket.with.dots", "eu-west-1", ""),
        ("bucket", "us-east-1", "http://127.0.0.1:4566"),
        ("bucket", "eu-west-1", "https://s3.example.com"),
    ],
)
def test_the_address_is_the_one_that_boto3_asks(
    sandbox_environment, monkeypatch, bucket, region, endpoint, key
):
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    urls = []

    def look(request, **_):
        urls.append(request.url)
        raise InterruptedError

    client = build_client(region)
    client.meta.events.register("before-send.s3", look)
    with pytest.raises(InterruptedError):
        client.get_object(Bucket=bucket, Key=key)
    settings = replace(
        read_settings(ENVIRONMENT | {"METHOD": "crt"}), bucket=bucket, key=key, region=region
    )
    host, path, is_tls = _address(settings)
    assert f"{'https' if is_tls else 'http'}://{host}{path}" == urls[0]


@pytest.mark.parametrize(
    ("name", "error_type"),
    [
        ("AWS_ERROR_DEST_COPY_TOO_SMALL", "S3Error"),  # a whole object for a range
        ("AWS_ERROR_S3_OBJECT_MODIFIED", "ObjectChanged"),
        ("AWS_ERROR_HTTP_RESPONSE_FIRST_BYTE_TIMEOUT", "ReadTimeout"),
        ("AWS_IO_TLS_ERROR_NEGOTIATION_FAILURE", "NoConnection"),
        ("AWS_IO_SOCKET_CLOSED", "ConnectionCut"),
        ("AWS_ERROR_NO_SPACE", "NoSpace"),
        ("AWS_ERROR_OOM", "UnexpectedError"),
    ],
)
def test_an_error_of_the_runtime_gets_its_word(name, error_type):
    error = type("AwsCrtError", (Exception,), {"name": name})(name)
    assert describe(translate(error, {}))[0] == error_type
