"""The data set is put where it is read by a function of the stack, and what goes wrong there is one line."""

import json
import socket

import pytest
import urllib3.util.connection
from botocore.exceptions import ClientError, EndpointConnectionError

from experiments import EXPERIMENTS
from loader.seeding import PROBES, seed
from stampede.errors import RunError
from stampede.experiment import Seeding
from stampede.stacks.target import Target
from tests.fakes.loopback import Loopback
from tests.fakes.simulated_aws import SimulatedAws

OUTPUTS = {
    "experiment": "filesystem",
    "region": "us-east-1",
    "placing_function_name": "stampede-filesystem-placing-efs",
}


def answers(*payloads, **more):
    return [{"Payload": payload, **more} for payload in payloads]


@pytest.fixture
def placed():
    """Place on a stack with these outputs, whose function answers so; gives the result and the stack."""

    def invoke(function_answers, outputs=OUTPUTS):
        stack = SimulatedAws("local", outputs)
        stack.answers.extend(function_answers)
        return seed(stack, {}, sleep=stack.sleep), stack

    return invoke


def refusal(code, message="not yet"):
    return ClientError({"Error": {"Code": code, "Message": message}}, "Invoke")


@pytest.mark.parametrize(
    "code", ["TooManyRequestsException", "ResourceConflictException", "EFSMountConnectivityException"]
)
def test_an_invocation_that_lambda_refuses_before_it_runs_is_tried_again(placed, code):
    result, stack = placed([*[refusal(code)] * 3, *answers(b'{"objects": 3}')])
    assert result == [{"objects": 3}]
    assert stack.slept == [2, 4, 8]


def test_a_function_whose_new_role_has_not_spread_is_invoked_for_three_minutes():
    denied = b'{"errorType": "ClientError", "errorMessage": "An error occurred (AccessDenied) when calling PutObject"}'
    stack = SimulatedAws("local", OUTPUTS)
    stack.answers.extend(answers(denied, FunctionError="Unhandled"))
    with pytest.raises(RunError, match="could not seed the data set: An error occurred"):
        seed(stack, {}, sleep=stack.sleep)
    assert stack.now_s == 180


def test_a_connection_on_which_an_invocation_is_silent_for_minutes_is_probed_every_minute(monkeypatch):
    class Function(Loopback):
        def answer(self, request):
            return 200, {}, b'{"objects": 3}'

    probes, connect = [], urllib3.util.connection.create_connection

    def noticed(*arguments, **options):
        made = connect(*arguments, **options)
        names = ((socket.SOL_SOCKET, socket.SO_KEEPALIVE), *((level, name) for level, name, _ in PROBES))
        probes.append([made.getsockopt(*name) for name in names])
        return made

    monkeypatch.setattr(urllib3.util.connection, "create_connection", noticed)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "x")
    with Function() as function:
        seed(Target("local", OUTPUTS, function.url), {})
    assert probes == [[1, 60, 30]]


def test_the_answer_of_the_function_is_reported(placed, capsys):
    payload = {"files": 1001, "bytes": 500000, "seconds": 1.52, "status": "ok"}
    [result], stack = placed(answers(json.dumps(payload).encode()))
    assert result == payload
    assert stack.invocations == [("stampede-filesystem-placing-efs", {})]
    assert "stampede-filesystem-placing-efs: files 1,001, bytes 500,000, seconds 1.52\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    "outputs", [{"experiment": "download", "region": "us-east-1"}, OUTPUTS | {"placing_function_name": None}]
)
def test_an_experiment_without_one_invokes_nothing(placed, outputs):
    result, stack = placed([AssertionError()], outputs)
    assert (result, stack.invocations) == ([], [])


def test_what_a_cell_needs_is_placed_in_turn_and_not_again_on_the_same_stack(monkeypatch):
    def halves(values):
        return [{"set": values["set"], "half": half} for half in (1, 2)]

    monkeypatch.setitem(
        EXPERIMENTS, "filesystem", EXPERIMENTS["filesystem"].with_(seeding=Seeding("placing_function_name", halves))
    )
    stack, done = SimulatedAws("local", OUTPUTS), set()
    stack.answers.extend(answers(b'{"status": "ok"}'))
    for name in ("a", "b", "a"):
        seed(stack, {"set": name}, done)
    assert [event for _, event in stack.invocations] == [
        {"set": name, "half": half} for name in "ab" for half in (1, 2)
    ]


NOWHERE = EndpointConnectionError(endpoint_url="http://nowhere")
NO_SPACE = json.dumps({"errorMessage": '{"error_type": "NoSpace", "error_message": "full"}'}).encode()


@pytest.mark.parametrize(
    ("function_answers", "words"),
    [
        (
            answers(b'{"errorMessage": "NoSpace: the file system is full"}', FunctionError="Unhandled"),
            "could not seed the data set: NoSpace: the file system is full",
        ),
        (
            answers(b'{"status": "error", "error_type": "AccessDenied", "error_message": "no"}'),
            "could not seed the data set: AccessDenied: no; its log is /aws/lambda/stampede-filesystem-placing-efs",
        ),
        (answers(NO_SPACE, FunctionError="Unhandled"), "could not seed the data set: NoSpace: full; its log is"),
        (answers(b"not JSON"), "could not seed the data set: b'not JSON'"),
        ([NOWHERE], "invoking stampede-filesystem-placing-efs"),
    ],
)
def test_a_failure_is_one_line_that_names_the_function(placed, function_answers, words):
    with pytest.raises(RunError) as error:
        placed(function_answers)
    assert words in str(error.value)
    assert "\n" not in str(error.value)
