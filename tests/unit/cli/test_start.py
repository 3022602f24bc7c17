"""The command's first steps, before any other import."""

import os
import urllib.request

import pytest

from stampede.cli.start import ask_loopback_directly


@pytest.mark.parametrize("excepted", [{}, {"NO_PROXY": "intranet.example"}, {"no_proxy": "*"}])
@pytest.mark.parametrize("proxy", ["HTTP_PROXY", "http_proxy"])
def test_the_environments_proxy_is_not_used_for_the_embedded_aws(proxy, excepted, monkeypatch):
    for name, value in {
        "NO_PROXY": "",
        "no_proxy": "",
        proxy: "http://127.0.0.1:9",
        **excepted,
    }.items():
        monkeypatch.setenv(name, value)
    ask_loopback_directly()
    assert urllib.request.proxy_bypass("127.0.0.1:35721")
    assert urllib.request.proxy_bypass("intranet.example") == bool(excepted)
    # Go's programs read the first, Python's the second
    assert os.environ["NO_PROXY"] == os.environ["no_proxy"]
