"""What the fault tests share: the sandbox fixtures of the download function, and a certificate for loopback."""

import ssl
import subprocess
import time
from types import SimpleNamespace

import pytest

from tests.unit.functions.filesystem.conftest import mount, start
from tests.unit.functions.sandbox_fixtures import sandbox, sandbox_environment, start_s3

__all__ = ["certificate", "mount", "sandbox", "sandbox_environment", "start", "start_s3"]


@pytest.fixture(autouse=True)
def short_naps(monkeypatch):
    """botocore waits a hundredth of its back-off before it tries again: how often it tries is ours, how long is its."""

    def sleep(seconds):
        time.sleep(seconds / 100)

    monkeypatch.setattr("botocore.endpoint.time", SimpleNamespace(sleep=sleep, time=time.time))


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    """A certificate for 127.0.0.1 that signs itself: the `path` of its file, and a server's `context`."""
    folder = tmp_path_factory.mktemp("certificate")
    certificate, key = str(folder / "certificate.pem"), str(folder / "key.pem")
    subject = ("-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2")
    command = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *subject)
    subprocess.run([*command, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return SimpleNamespace(path=certificate, context=context)
