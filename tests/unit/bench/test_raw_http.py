"""The bare peer sends every request once, and takes nothing but whole 200s for answers."""

import json
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from bench import flood, raw_http
from bench.errors import BenchError
from loader.sqs.sending import Endpoint


class CountingServer(ThreadingHTTPServer):
    """Counts the bodies it is sent and answers each with `status`."""

    daemon_threads = True

    def __init__(self, status=200):
        self.bodies, self.status, self.connections = Counter(), status, 0
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self):
        super().setup()
        self.server.connections += 1

    def do_POST(self):
        self.server.bodies[self.rfile.read(int(self.headers["content-length"]))] += 1
        self.send_response(self.server.status)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        return


def endpoint(url):
    class Key:
        access_key, secret_key, token = "test", "test", None

    return Endpoint(url, "us-east-1", Key)


@pytest.mark.parametrize(("count", "connections"), [(1, 4), (40, 4), (43, 4), (400, 1)])
def test_every_message_is_sent_exactly_once(count, connections):
    with CountingServer() as server:
        requests = flood.bare_requests(endpoint(server.url), "http://q", count)
        raw_http.post_all(server.url, requests, connections)
    assert set(server.bodies.values()) == {1}
    sent = [json.loads(entry["MessageBody"])["seq"] for body in server.bodies for entry in json.loads(body)["Entries"]]
    assert sorted(sent) == list(range(count))
    assert server.connections == min(connections, len(requests))


def test_an_answer_other_than_200_is_no_measurement():
    with CountingServer(status=403) as server, pytest.raises(BenchError, match=r"HTTP/1\.1 403"):
        raw_http.post_all(server.url, flood.bare_requests(endpoint(server.url), "http://q", 10), 1)


def test_an_answer_is_whole_with_its_last_byte():
    answer = b"HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 2\r\nDate: y\r\n\r\n{}"
    assert [raw_http.is_whole(answer[:size]) for size in range(len(answer) + 1)] == [False] * len(answer) + [True]
