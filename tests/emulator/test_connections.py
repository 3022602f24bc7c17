"""The embedded AWS turns nobody away, however many functions begin at once."""

import contextlib
import os
import select
import signal
import socket
import time

import pytest

from stampede.emulator import ministack

CONNECTIONS = 600


@pytest.fixture
def busy(tmp_path):
    """Host and port of an emulator that comes to nothing else: it is stopped, and goes on before it ends."""
    running = ministack.start(tmp_path, follow_parent=True)
    os.kill(running.pid, signal.SIGSTOP)
    try:
        yield running.endpoint_url.removeprefix("http://").split(":")
    finally:
        os.kill(running.pid, signal.SIGCONT)
        ministack.stop(tmp_path)


def test_600_connections_at_once_wait_until_a_busy_emulator_comes_to_them(busy):
    with contextlib.ExitStack() as opened:
        waiting = set()
        for _ in range(CONNECTIONS):
            connection = opened.enter_context(socket.socket())
            connection.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                connection.connect((busy[0], int(busy[1])))
            waiting.add(connection)
        deadline = time.monotonic() + 5
        while waiting and (left_s := deadline - time.monotonic()) > 0:
            waiting -= set(select.select([], waiting, [], left_s)[1])
    assert not waiting, f"{len(waiting)} of {CONNECTIONS} got no connection"
