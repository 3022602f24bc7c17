"""The method `crt` asks for the address that boto3 asks for."""

from dataclasses import replace

import pytest

from common.s3_client import build_client
from download.crt import _address
from download.settings import read_settings
from tests.unit.functions.lambda_sandbox import ENVIRONMENT


@pytest.mark.parametrize("key", ["sample_large_file.dat", "folder/a b+c&d=e?f#g%h", "ä/日本.dat", "a//b", "'(q)*!"])
@pytest.mark.parametrize(
    ("bucket", "region", "endpoint"),
    [
        *((bucket, region, "") for bucket in ("bucket", "bucket.with.dots") for region in ("eu-west-1", "cn-north-1")),
        *(("bucket", "us-east-1", f"http://{host}:4566") for host in ("127.0.0.1", "[::1]")),
        ("bucket", "eu-west-1", "https://s3.example.com"),
    ],
)
def test_the_address_is_the_one_that_boto3_asks(sandbox_environment, monkeypatch, bucket, region, endpoint, key):
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    urls = []

    def look(request, **_):
        urls.append(request.url)
        raise InterruptedError

    client = build_client(region)
    client.meta.events.register("before-send.s3", look)
    with pytest.raises(InterruptedError):
        client.get_object(Bucket=bucket, Key=key)
    settings = replace(read_settings(ENVIRONMENT | {"METHOD": "crt"}), bucket=bucket, key=key, region=region)
    host, path, is_tls = _address(settings)
    assert f"{'https' if is_tls else 'http'}://{host}{path}" == urls[0]
