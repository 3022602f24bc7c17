"""Downloads over TLS: every method gets the right bytes from a server whose certificate it has checked."""

import zlib

import pytest

from tests.fakes.s3 import ALWAYS, FakeS3, Faults
from tests.unit.functions.lambda_sandbox import order

MIB = 2**20
OBJECT = 35 * MIB + 5  # three ranges of 16 MiB
each_method = pytest.mark.parametrize("method", ["download_file", "stream", "ranges", "crt"])
each_get_object = pytest.mark.parametrize("method", ["stream", "ranges"])


@pytest.fixture
def start(sandbox_environment, sandbox, monkeypatch, certificate):
    """Return a function that starts an S3 with TLS and faults, and a sandbox with a method that trusts it."""
    monkeypatch.setattr("common.get_object.pause_s", lambda tries: 0.01 * tries)
    started = []

    def start(method, object_bytes=OBJECT, trusted=True, **faults):
        server = FakeS3(object_bytes, Faults(**faults), certificate.context).__enter__()
        started.append(server)
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
        monkeypatch.setenv("METHOD", method)
        if trusted:
            monkeypatch.setenv("AWS_CA_BUNDLE", certificate.path)
        return server, sandbox()

    yield start
    for server in started:
        server.__exit__()


@each_method
def test_the_right_bytes_arrive(start, method):
    s3, function = start(method)
    for _ in range(2):  # the second over the connections of the first, where the method keeps them
        [record], failed = function.invoke(order(object_bytes=OBJECT, checksum=f"crc32:{zlib.crc32(s3.body):08x}"))
        assert (failed, record["status"], record["retries"]) == ([], "ok", 0), record


# Without crt, which tries again until the deadline.
@pytest.mark.parametrize("method", ["download_file", "stream", "ranges"])
def test_a_server_that_nobody_vouches_for_is_an_error(start, method):
    s3, function = start(method, trusted=False)
    [record], _ = function.invoke(order())
    assert (record["status"], record["error_type"]) == ("error", "NoConnection"), record
    assert s3.requests == []


@each_get_object
def test_a_certificate_for_another_name_is_an_error(start, sandbox, monkeypatch, method):
    s3, _ = start(method)
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3.url.replace("127.0.0.1", "localhost"))
    [record], _ = sandbox().invoke(order())
    assert (record["error_type"], s3.requests) == ("NoConnection", [])


@each_get_object
def test_a_body_cut_once_goes_on_at_the_byte_reached(start, method):
    s3, function = start(method, cut_bodies=1)
    [record], _ = function.invoke(order(checksum=f"crc32:{zlib.crc32(s3.body):08x}"))
    assert (record["status"], record["bytes"], record["retries"]) == ("ok", OBJECT, 1), record


@each_get_object
def test_bodies_that_are_always_cut_are_an_error(start, method):
    _, function = start(method, cut_bodies=ALWAYS)
    [record], _ = function.invoke(order())
    assert record["error_type"] == "ConnectionCut"


@each_get_object
def test_a_silent_connection_becomes_a_read_timeout(start, monkeypatch, method):
    monkeypatch.setattr("common.s3_client.READ_TIMEOUT_S", 0.2)
    _, function = start(method, MIB, trickle_bytes=1024, trickle_pause_s=1.0)
    [record], _ = function.invoke(order())
    assert record["error_type"] == "ReadTimeout", record


@each_get_object
def test_a_warm_sandbox_keeps_its_connections(start, method):
    s3, function = start(method, MIB)
    for _ in range(3):
        [record], _ = function.invoke(order())
        assert (record["status"], record["retries"]) == ("ok", 0), record
    assert s3.connections == 1
