"""MiniStack's runtime API hands events to this user's processes alone, and to no page."""

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
    """The address of a runtime API that has one event, and the queue that has it."""
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
    try:
        connection.request(
            "GET", NEXT, headers={name.replace("_", "-"): value for name, value in headers.items()}
        )
        return connection.getresponse().status
    except ConnectionResetError:  # RemoteDisconnected is one
        return None
    finally:
        connection.close()


def status_as_nobody(address):
    """What a process of another user of this machine gets."""
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


def test_a_process_of_this_user_gets_the_event_and_neither_a_page_nor_another_user(listener):
    address, events = listener
    for header in (
        {"Origin": "null"},
        {"Referer": "http://x"},
        {"Sec_Fetch_Site": "none"},
        {"Host": "x"},
    ):
        assert (status(address, **header), events.empty()) == (403, False), header
    if os.geteuid() == 0:  # only root can be another user
        assert (status_as_nobody(address), events.empty()) == ("None", False)
    assert (status(address), events.empty()) == (200, True)


def test_a_connection_that_was_closed_at_once_is_nobodys():
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        with server.accept()[0] as connection:
            assert runtime_api.is_this_users(connection)
            client.close()  # the kernel would say that root has it
            # A process that another thread is just starting has the client's end too, until it is
            # another program.
            deadline = time.monotonic() + 10
            while runtime_api.is_this_users(connection) and time.monotonic() < deadline:
                time.sleep(0.01)
            assert not runtime_api.is_this_users(connection)
