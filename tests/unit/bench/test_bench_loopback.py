"""A measurement never uses the account or the proxy of the shell that it is started from."""

import os

from bench.session import stay_on_loopback


def test_the_shells_account_and_proxy_are_left_out(monkeypatch):
    environment = {
        "AWS_PROFILE": "production",
        "AWS_ENDPOINT_URL": "https://example.com",
        "NO_PROXY": "internal",
        "HTTP_PROXY": "http://proxy:3128",
        "PATH": "/bin",
    }
    monkeypatch.setattr(os, "environ", environment)
    stay_on_loopback()
    assert environment == {
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "NO_PROXY": "internal,127.0.0.1",
        "no_proxy": "127.0.0.1",
        "HTTP_PROXY": "http://proxy:3128",
        "PATH": "/bin",
    }
