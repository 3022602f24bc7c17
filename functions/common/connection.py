"""One HTTP/1.1 connection that does what a GET of S3 needs, so that the CPU goes into the bytes and nothing else.

http.client and urllib3 put a buffered reader between socket and caller, which doubles the CPU of a download; here the
kernel copies into the caller's buffer and no byte is touched again. Proxies aren't used.
"""

import re
import select
import socket
import ssl
import struct
from dataclasses import dataclass

from common import s3_client
from common.endpoint import ObjectAddress
from common.failures import ConnectionCut, NoConnection, ReadTimeout

_LONGEST_HEAD_BYTES = 64 * 1024
_STATUS_LINE = re.compile(r"HTTP/1\.[01] (\d{3})")


@dataclass(frozen=True)
class Head:
    """Status and headers of an answer, the names in lower case; `length` is that of the body, None if not announced."""

    status: int
    headers: dict[str, str]
    length: int | None


class Connection:
    """A connection to S3, used by one thread at a time. Only `interrupt` may be called from another."""

    def __init__(self, address: ObjectAddress, tls: ssl.SSLContext | None) -> None:
        """Connect; raises NoConnection."""
        try:
            connected = socket.create_connection((address.host, address.port), s3_client.CONNECT_TIMEOUT_S)
        except OSError as error:
            raise NoConnection(f"no connection to {address.host}:{address.port}: {error}") from None
        try:
            # One that answers requests, so no small write may wait for an acknowledgement.
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket = tls.wrap_socket(connected, server_hostname=address.host) if tls else connected
        except OSError as error:  # ssl.SSLError is one
            connected.close()
            raise NoConnection(f"TLS with {address.host}:{address.port} failed: {error}") from None
        self._is_tls = tls is not None
        self._set_timeout(s3_client.READ_TIMEOUT_S)
        self._early = b""  # what came of the body together with the head

    def ask(self, path: str, headers: dict[str, str]) -> Head:
        """Send a GET and return the head of the answer; raises ConnectionCut and ReadTimeout."""
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        try:
            self._socket.sendall(f"GET {path} HTTP/1.1\r\n{lines}\r\n".encode("latin-1"))
            return self._read_head()
        except OSError as error:
            raise _named(error) from None

    def receive_into(self, view: memoryview) -> int:
        """Put the next bytes of the body into `view` and return how many they were; 0 where the connection ended.

        As a rule `view` is full then; waiting for that saves calls. Raises ConnectionCut and ReadTimeout.
        """
        if self._early:
            count = min(len(self._early), len(view))
            view[:count] = self._early[:count]
            self._early = self._early[count:]
            return count
        try:
            if not self._is_tls:
                return self._socket.recv_into(view, len(view), socket.MSG_WAITALL)
            filled, receive = 0, self._socket.recv_into
            while filled < len(view):  # TLS gives one record, 16 KiB at most, at a time
                count = receive(view[filled:])
                if not count:
                    break
                filled += count
            return filled
        except OSError as error:
            raise _named(error) from None

    def receive_line(self) -> bytes:
        """Return the next line of the body without its end; raises ConnectionCut and ReadTimeout."""
        while b"\r\n" not in self._early:
            try:
                piece = self._socket.recv(16 * 1024)
            except OSError as error:
                raise _named(error) from None
            if not piece or len(self._early) > _LONGEST_HEAD_BYTES:
                raise ConnectionCut("the connection ended in the middle of the answer")
            self._early += piece
        line, _, self._early = self._early.partition(b"\r\n")
        return line

    def is_idle(self) -> bool:
        """Whether the connection can carry another request: not closed by S3, no bytes that nobody asked for."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return not self._early and not poll.poll(0)

    def interrupt(self) -> None:
        """Make a receive that waits in another thread return at once."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            return  # it has ended already

    def close(self) -> None:
        """Close it; safe to repeat."""
        self._socket.close()

    def _set_timeout(self, seconds: float) -> None:
        if self._is_tls:
            self._socket.settimeout(seconds)  # the kernel's only lets OpenSSL try again, without end
            return
        # The kernel's own timeout: with Python's a receive is two calls, and MSG_WAITALL has no effect.
        self._socket.settimeout(None)
        whole, fraction = divmod(seconds, 1)
        timeout = struct.pack("@ll", int(whole), int(fraction * 1_000_000))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeout)

    def _read_head(self) -> Head:
        received = b""
        while b"\r\n\r\n" not in received:
            piece = self._socket.recv(16 * 1024)
            if not piece or len(received) > _LONGEST_HEAD_BYTES:
                raise ConnectionCut("the connection ended before the answer")
            received += piece
        head, _, self._early = received.partition(b"\r\n\r\n")
        status_line, *lines = head.decode("latin-1").split("\r\n")
        status = _STATUS_LINE.match(status_line)
        if not status:
            raise ConnectionCut(f"not an HTTP answer: {status_line[:60]!a}")
        pairs = (line.partition(":") for line in lines)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        length = headers.get("content-length", "")
        return Head(int(status[1]), headers, int(length) if length.isdigit() else None)


def _named(error: OSError) -> Exception:
    # Without Python's timeout, the kernel's shows as an operation that would block.
    if isinstance(error, BlockingIOError | ssl.SSLWantReadError | TimeoutError):
        return ReadTimeout(f"S3 sent no byte for {s3_client.READ_TIMEOUT_S:g} s")
    return ConnectionCut(f"{type(error).__name__}: {error}")
