"""The data set is put where it is read by a function of the stack, and what goes wrong there is one line."""

import io
import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace

import pytest
import urllib3.util.connection
from botocore.config import Config
from botocore.exceptions import ClientError, EndpointConnectionError

from experiments import EXPERIMENTS
from loader.seeding import PROBES, seed
from stampede.errors import RunError
from stampede.experiment.capabilities import Seeding
from stampede.stacks.target import Target

OUTPUTS = {
    "experiment": "filesystem",
    "region": "us-east-1",
    "placing_function_name": "stampede-filesystem-placing-efs",
}


class Lambda:
    """Answers Invoke with a payload, or an error; once with `first`, where that is given."""

    _endpoint = SimpleNamespace(http_session=SimpleNamespace(_socket_options=[]))

    def __init__(self, payload=b"", error=None, function_error=None, first=None):
        self.payload, self.error, self.function_error, self.invoked = payload, error, function_error, []
        self.first, self.slept = first, []

    def invoke(self, **parameters):
        self.invoked.append((parameters["FunctionName"], json.loads(parameters["Payload"])))
        if self.error:
            raise self.error
        more = {"FunctionError": self.function_error} if self.function_error else {}
        payload, self.first = self.first or self.payload, None
        return {"Payload": io.BytesIO(payload), **more}


@pytest.fixture
def placed(monkeypatch):
    """Place on a stack with these outputs, by a Lambda that answers so; gives the result and the Lambda."""

    def invoke(outputs=OUTPUTS, **answer):
        service = Lambda(**answer)
        monkeypatch.setattr(Target, "client", lambda self, name, **config: service)
        return seed(Target("local", outputs), {}, sleep=service.slept.append), service

    return invoke


def test_what_the_function_could_not_place_it_is_told_once_more(placed):
    result, service = placed(first=b'{"status": "error", "error_type": "SlowDown"}', payload=b'{"objects": 3}')
    assert result == [{"objects": 3}]
    assert len(service.invoked) == 2


@pytest.mark.parametrize(
    "code", ["TooManyRequestsException", "ResourceConflictException", "EFSMountConnectivityException"]
)
def test_an_invocation_that_lambda_refuses_before_it_runs_is_tried_again(monkeypatch, code):
    service = Lambda(b'{"objects": 3}')
    refusals = [ClientError({"Error": {"Code": code, "Message": "not yet"}}, "Invoke")] * 3
    carried_out = service.invoke

    def invoke(**parameters):
        if refusals:
            raise refusals.pop()
        return carried_out(**parameters)

    service.invoke = invoke
    monkeypatch.setattr(Target, "client", lambda self, name, **config: service)
    assert seed(Target("local", OUTPUTS), {}, sleep=service.slept.append) == [{"objects": 3}]
    assert service.slept == [2, 4, 8]


def test_a_function_whose_new_role_has_not_spread_is_invoked_for_three_minutes(monkeypatch):
    denied = b'{"errorType": "ClientError", "errorMessage": "An error occurred (AccessDenied) when calling PutObject"}'
    service = Lambda(denied, function_error="Unhandled")
    monkeypatch.setattr(Target, "client", lambda self, name, **config: service)
    with pytest.raises(RunError, match="could not seed the data set: An error occurred"):
        seed(Target("local", OUTPUTS), {}, sleep=service.slept.append)
    assert sum(service.slept) == 180


def test_an_invocation_whose_answer_is_lost_is_not_made_again_beside_the_first(monkeypatch):
    clients = []
    monkeypatch.setattr(
        Target, "client", lambda self, name, **config: clients.append(Config(**config)) or Lambda(b'{"objects": 3}')
    )
    seed(Target("local", OUTPUTS), {})
    [config] = clients
    assert config.retries["total_max_attempts"] == 1


def test_a_connection_on_which_an_invocation_is_silent_for_minutes_is_probed_every_minute(monkeypatch):
    class Answers(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"objects": 3}')

        def log_message(self, *_):
            pass

    probes, connect = [], urllib3.util.connection.create_connection

    def noticed(*arguments, **options):
        made = connect(*arguments, **options)
        names = ((socket.SOL_SOCKET, socket.SO_KEEPALIVE), *((level, name) for level, name, _ in PROBES))
        probes.append([made.getsockopt(*name) for name in names])
        return made

    monkeypatch.setattr(urllib3.util.connection, "create_connection", noticed)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "x")
    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        seed(Target("local", OUTPUTS, f"http://127.0.0.1:{server.server_port}"), {})
    assert probes == [[1, 60, 30]]


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        (
            b'{"files": 1001, "bytes": 500000, "seconds": 1.52, "already_there": 0}',
            "1,001 files, 500 KB, 0 already there, in 1.5 s",
        ),
        (
            b'{"objects": 1, "requests": 51, "bytes": 5, "elapsed_seconds": 2}',
            "1 object, 51 requests, 5 bytes, in 2.0 s",
        ),
    ],
)
def test_the_answer_of_the_function_is_reported_with_units(placed, capsys, payload, words):
    [result], service = placed(payload=payload)
    assert result == json.loads(payload)
    assert service.invoked == [("stampede-filesystem-placing-efs", {})]
    assert f"stampede-filesystem-placing-efs: {words}\n" in capsys.readouterr().err


def test_an_experiment_without_one_invokes_nothing(placed):
    result, service = placed({"experiment": "download", "region": "us-east-1"}, error=AssertionError())
    assert (result, service.invoked) == ([], [])
    result, service = placed(OUTPUTS | {"placing_function_name": None}, error=AssertionError())
    assert (result, service.invoked) == ([], [])


def test_what_a_cell_needs_is_placed_in_turn_and_not_again_on_the_same_stack(monkeypatch):
    def halves(values):
        return [{"set": values["set"], "half": half} for half in (1, 2)]

    monkeypatch.setitem(
        EXPERIMENTS, "filesystem", EXPERIMENTS["filesystem"].with_(seeding=Seeding("placing_function_name", halves))
    )
    service, placed = Lambda(), set()
    monkeypatch.setattr(Target, "client", lambda self, name, **config: service)
    for one in ("a", "b", "a"):
        service.payload = b'{"status": "ok"}'
        seed(Target("local", OUTPUTS), {"set": one}, placed)
    assert [event for _, event in service.invoked] == [{"set": one, "half": half} for one in "ab" for half in (1, 2)]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            {"payload": b'{"errorMessage": "NoSpace: the file system is full"}', "function_error": "Unhandled"},
            "could not seed the data set: NoSpace: the file system is full",
        ),
        (
            {"payload": b'{"status": "error", "error_type": "AccessDenied", "error_message": "no"}'},
            "could not seed the data set: AccessDenied: no; its log is /aws/lambda/stampede-filesystem-placing-efs",
        ),
        (
            {
                "payload": json.dumps({"errorMessage": '{"error_type": "NoSpace", "error_message": "full"}'}).encode(),
                "function_error": "Unhandled",
            },
            "could not seed the data set: NoSpace: full; its log is",
        ),
        ({"payload": b"not JSON"}, "could not seed the data set: b'not JSON'"),
        ({"error": EndpointConnectionError(endpoint_url="http://nowhere")}, "invoking stampede-filesystem-placing-efs"),
    ],
)
def test_a_failure_is_one_line_that_names_the_function(placed, answer, words):
    with pytest.raises(RunError) as error:
        placed(**answer)
    assert words in str(error.value)
    assert "\n" not in str(error.value)
