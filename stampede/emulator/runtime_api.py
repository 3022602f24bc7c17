"""Limits MiniStack's runtime API, which gives a function its events and asks for no key, to this
user's processes, and excludes pages in a browser. functions/transfer/internal/function/guard.go
does the same for the proxy before a user's program."""

from __future__ import annotations

import os
import socket
import struct

BROWSER_HEADERS = ("Origin", "Referer", "Sec-Fetch-Site")
# sock_diag(7)
SOCK_DIAG, BY_FAMILY, ANY_STATE, NO_COOKIE = 4, 20, 0xFFFFFFFF, 0xFFFFFFFF
USER_AND_INODE = 80  # their offset in the answer

Address = tuple[str, int]


class Guarded:
    """A mixin for the http.server handler of MiniStack's runtime API that admits nobody else."""

    def handle(self) -> None:
        """Serve a connection only from this user."""
        if is_this_users(self.connection):
            super().handle()

    def parse_request(self) -> bool:
        """Whether a request is valid and doesn't come from a page."""
        if not super().parse_request():
            return False
        own = "{}:{}".format(*self.connection.getsockname())
        if self.headers.get_all("Host") == [own] and not any(
            name in self.headers for name in BROWSER_HEADERS
        ):
            return True
        self.close_connection = True
        self.send_error(403)
        return False


def is_this_users(connection: socket.socket) -> bool:
    """Whether a process of this user is at the other end of a loopback connection.

    Also true where the system doesn't tell: not Linux, or a sandbox.
    """
    try:
        own, peer = connection.getsockname(), connection.getpeername()
    except OSError:
        return False  # already closed
    try:
        owner = _owner(peer, own)
        return owner == os.geteuid() if owner is not None else _owner(own, peer) is None
    except (OSError, AttributeError):
        return True


def _owner(end: Address, other: Address) -> int | None:
    """The user id whose socket is at this end of a connection; None once no process holds it.

    /proc/net/tcp also tells, but takes 5 ms in place of 0.1.
    """
    tcp = socket.AF_INET, socket.IPPROTO_TCP
    request = struct.pack("=IHHIIBBBxI", 72, BY_FAMILY, 1, 0, 0, *tcp, 0, ANY_STATE)
    hosts = [socket.inet_aton(host) for host, _ in (end, other)]
    request += struct.pack("!HH16s16s", end[1], other[1], *hosts)
    request += struct.pack("=III", 0, NO_COOKIE, NO_COOKIE)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, SOCK_DIAG) as kernel:
        kernel.send(request)
        answer = kernel.recv(4096)
    if struct.unpack_from("=H", answer, 4)[0] != BY_FAMILY:
        return None
    user, inode = struct.unpack_from("=II", answer, USER_AND_INODE)
    return user if inode else None
