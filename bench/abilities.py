"""What this machine can do, measured before anything is compared: docs/benchmarks.md says which ratio depends on what.

Each takes a fifth of a second to a second, on one core unless it says otherwise, by the standard library alone.
"""

from __future__ import annotations

import mmap
import multiprocessing
import socket
import ssl
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

from bench.servers import certificate
from stampede.emulator.ministack import HOST

RUNS = 3
_LOOPBACK_BYTES = 2**30
_TOUCHED_BYTES = 512 * 2**20
_TLS_BYTES = 256 * 2**20
_CHUNK_BYTES = 2**20
_ROUNDS = 3_000_000


@dataclass(frozen=True)
class Abilities:
    """Medians of three runs; a GB is 10^9 bytes."""

    loopback_gb_per_s: float  # from one process to another over TCP
    first_touch_gb_per_s: float  # memory of its own that a process writes to for the first time, in the usual pages
    tls_gb_per_s: float  # encrypted by one end and decrypted by the other, on the same core
    python_million_rounds_per_s: float  # of a loop that adds

    def __str__(self) -> str:
        return (
            f"loopback {self.loopback_gb_per_s:.1f} GB/s, first touch of memory {self.first_touch_gb_per_s:.1f} GB/s, "
            f"TLS {self.tls_gb_per_s:.2f} GB/s, Python {self.python_million_rounds_per_s:.0f} million rounds/s"
        )


def measure() -> Abilities:
    """Measure all four, about 4 s. Raises BenchError without openssl, which makes the certificate."""
    with certificate() as made:
        contexts = _contexts(str(made.certificate), str(made.key))
        return Abilities(
            _median(lambda: _LOOPBACK_BYTES / 1e9 / _loopback_s()),
            _median(lambda: _TOUCHED_BYTES / 1e9 / _first_touch_s()),
            _median(lambda: _TLS_BYTES / 1e9 / _tls_s(*contexts)),
            _median(lambda: _ROUNDS / 1e6 / _python_s()),
        )


def _median(one: Callable[[], float]) -> float:
    return statistics.median(one() for _ in range(RUNS))


def _loopback_s() -> float:
    with socket.create_server((HOST, 0)) as server:
        # Spawned and not forked: the sender shall not carry this process's memory along.
        sender = multiprocessing.get_context("spawn").Process(
            target=_send, args=(server.getsockname()[1], _LOOPBACK_BYTES), daemon=True
        )
        sender.start()
        server.settimeout(60)
        connection, _ = server.accept()
        with connection:
            connection.settimeout(60)
            buffer, left = memoryview(bytearray(_CHUNK_BYTES)), _LOOPBACK_BYTES
            left -= connection.recv_into(buffer)  # the clock starts with the bytes
            started = time.perf_counter()
            while left > 0 and (taken := connection.recv_into(buffer)):
                left -= taken
            seconds = time.perf_counter() - started
        sender.join(60)
    return seconds


def _send(port: int, count: int) -> None:
    with socket.create_connection((HOST, port), timeout=60) as connection:
        chunk = bytes(_CHUNK_BYTES)
        for _ in range(count // _CHUNK_BYTES):
            connection.sendall(chunk)


def _first_touch_s() -> float:
    page = mmap.PAGESIZE
    with mmap.mmap(-1, _TOUCHED_BYTES) as memory:
        marks = b"\1" * (_TOUCHED_BYTES // page)
        started = time.perf_counter()
        memory[::page] = marks  # one byte a page: what is timed is the page
        return time.perf_counter() - started


def _contexts(certificate_path: str, key_path: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate_path, key_path)
    return ssl.create_default_context(cafile=certificate_path), server


def _tls_s(client_context: ssl.SSLContext, server_context: ssl.SSLContext) -> float:
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_context.wrap_bio(to_client, to_server, server_hostname=HOST)
    server = server_context.wrap_bio(to_server, to_client, server_side=True)
    waiting = [client, server]
    while waiting:
        for end in list(waiting):
            try:
                end.do_handshake()
                waiting.remove(end)
            except ssl.SSLWantReadError:
                continue
    chunk, buffer = bytes(_CHUNK_BYTES), bytearray(_CHUNK_BYTES)
    started = time.perf_counter()
    for _ in range(_TLS_BYTES // _CHUNK_BYTES):
        server.write(chunk)
        left = _CHUNK_BYTES
        while left:
            left -= client.read(left, buffer)
    return time.perf_counter() - started


def _python_s() -> float:
    total = 0
    started = time.perf_counter()
    for number in range(_ROUNDS):
        total += number
    return time.perf_counter() - started
