"""MiniStack's runtime API gives events only to this user's processes, and to no page."""

import http.client
import os
import queue
import socket
import threading
import time
from http.server import ThreadingHTTPServer

import pytest

from stampede.emulator import functions, runtime_api

NOBODY = 65534
NEXT = "/2018-06-01/runtime/invocation/next"


@pytest.fixture
def listener():
    """The address of a runtime API with one event, and its queue."""
    worker, events = functions.Environment("f", {}, b""), queue.Queue()
    worker._stopping = False
    events.put(("id", {}, 0, "", ""))
    with ThreadingHTTPServer(("127.0.0.1", 0), worker._build_handler_class(0, events)) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server.server_address, events
        server.shutdown()
        thread.join()


def status(address, **headers):
    connection = http.client.HTTPConnection(*address, timeout=5)
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.request("GET", NEXT, headers=headers)
        return connection.getresponse().status
    except ConnectionResetError:  # RemoteDisconnected is one
        return None
    finally:
        connection.close()


def status_as_nobody(address):
    """The status that a process of another user gets, as text."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os.write(writer, str(status(address)).encode())
        finally:
            os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as pipe:
        return pipe.read()


def test_only_a_process_of_this_user_gets_the_event_and_no_page_or_other_user(listener):
    address, events = listener
    headers = {"Origin": "null", "Referer": "http://x", "Sec_Fetch_Site": "none", "Host": "x"}
    for name, value in headers.items():
        assert (status(address, **{name: value}), events.empty()) == (403, False), name
    if os.geteuid() == 0:  # only root can be another user
        assert (status_as_nobody(address), events.empty()) == ("None", False)
    assert (status(address), events.empty()) == (200, True)


def test_a_closed_connection_is_not_this_users():
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        with server.accept()[0] as connection:
            assert runtime_api.is_this_users(connection)
            client.close()  # the kernel says that root owns it
            # A process that another thread forks holds the client's end, too, until its exec.
            deadline = time.monotonic() + 10
            while runtime_api.is_this_users(connection) and time.monotonic() < deadline:
                time.sleep(0.01)
            assert not runtime_api.is_this_users(connection)
