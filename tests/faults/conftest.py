"""Shared by the fault tests: sandboxes of the functions, short pauses between attempts, a
certificate for loopback."""

import gc
import ssl
import subprocess
import time
from types import SimpleNamespace

import pytest

from tests.unit.functions.conftest import mount, sandbox, sandbox_environment, start, start_s3

__all__ = ["mount", "sandbox", "sandbox_environment", "start", "start_s3"]


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    """Shortens pauses before retries, botocore's and our own, to a hundredth: only the number of
    attempts matters here."""

    def sleep(seconds):
        time.sleep(seconds / 100)

    monkeypatch.setattr("botocore.endpoint.time", SimpleNamespace(sleep=sleep, time=time.time))
    monkeypatch.setattr("common.get_object.pause_s", lambda tries: 0.01 * tries)


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    """A self-signed certificate for 127.0.0.1: the `path` of its file, and a server's `context`."""
    folder = tmp_path_factory.mktemp("certificate")
    certificate, key = str(folder / "certificate.pem"), str(folder / "key.pem")
    subject = ("-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2")
    command = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *subject)
    subprocess.run([*command, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return SimpleNamespace(path=certificate, context=context)


@pytest.fixture
def begin(start_s3, sandbox, monkeypatch, certificate):
    """Returns a function that starts an S3 with faults and a sandbox with a download method."""
    monkeypatch.setenv("RANGE_PARALLEL", "4")

    def begin(method, object_bytes=2**20, sink="", tls=False, **faults):
        monkeypatch.setenv("SINK", sink)
        s3 = start_s3(object_bytes, tls=certificate.context if tls else None, **faults)
        if tls:
            monkeypatch.setenv("AWS_CA_BUNDLE", certificate.path)
        return s3, sandbox(method)

    return begin


@pytest.fixture
def no_collection():
    """Disables garbage collection, whose callback by Hypothesis would swallow an interruption."""
    gc.disable()
    yield
    gc.enable()
