"""An emulator is on loopback alone, and one that doesn't start says why."""

import sys
import urllib.parse
from pathlib import Path

import pytest

from tests.localstack import starting

LISTENING = "0A"  # proc(5), /proc/net/tcp
LOOPBACK = ("0100007F", "00000000000000000000000001000000")


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="only Linux tells who listens")
def test_it_listens_on_loopback_alone(endpoint):
    port = f"{urllib.parse.urlsplit(endpoint.url).port:04X}"
    tables = [table.read_text() for table in Path("/proc/net").glob("tcp*")]
    lines = [line.split() for line in "".join(tables).splitlines()]
    addresses = [line[1].split(":") for line in lines if line[3] == LISTENING]
    listening = [address for address, at in addresses if at == port]
    assert listening
    assert set(listening) <= set(LOOPBACK)


def test_one_that_does_not_start_fails_with_what_it_said_last(tmp_path, monkeypatch):
    monkeypatch.setattr(starting, "PYTHON", sys.executable)  # has no LocalStack
    with (
        pytest.raises(AssertionError, match=r"localstack ended with 1; it said last:\n(.*\n)*ModuleNotFoundError"),
        starting.started("localstack", tmp_path),
    ):
        pass
