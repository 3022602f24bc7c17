"""A function of the stack puts the data set where it is read, and proves its new permissions; what goes wrong there is
one line."""

import base64
import json
import socket

import pytest
import urllib3.util.connection
from botocore.exceptions import ClientError, EndpointConnectionError

from experiments import EXPERIMENTS
from loader.permission import wait_for_permission
from loader.seeding import PROBES, seed
from stampede.errors import RunError
from stampede.experiment import Seeding
from stampede.stacks.target import Target
from tests.fakes.loopback import Loopback
from tests.fakes.simulated_aws import SimulatedAws, record

NAME = "stampede-filesystem-placing-efs"
OUTPUTS = {"experiment": "filesystem", "region": "us-east-1", "placing_function_name": NAME}


def answer(payload, **more):
    return {"Payload": payload.encode(), **more}


def refusal(code, message="not yet"):
    return ClientError({"Error": {"Code": code, "Message": message}}, "Invoke")


def stack_of(*answers, outputs=OUTPUTS):
    """A stack whose function gives these answers in turn, the last one for ever."""
    stack = SimulatedAws("aws", outputs)
    stack.answers.extend(answers)
    return stack


@pytest.mark.parametrize(
    "code", ["TooManyRequestsException", "ResourceConflictException", "EFSMountConnectivityException"]
)
def test_an_invocation_that_lambda_refuses_before_it_runs_is_tried_again(code):
    stack = stack_of(*[refusal(code)] * 3, answer('{"objects": 3}'))
    seed(stack, {}, sleep=stack.sleep)
    assert (stack.slept, stack.invocations) == ([2, 4, 8], [(NAME, {})] * 4)


NO_SPACE = json.dumps({"errorMessage": '{"error_type": "NoSpace", "error_message": "full"}'})
DENIED = '{"errorMessage": "An error occurred (AccessDenied) when calling PutObject"}'
RECORD = '{"status": "error", "error_type": "OSError", "error_message": "no"}'


@pytest.mark.parametrize(
    ("answered", "words", "ends_s"),
    [
        (answer('{"errorMessage": "NoSpace: full"}', FunctionError="Unhandled"), "data set: NoSpace: full", 2),
        (answer(RECORD), f"data set: OSError: no; its log is /aws/lambda/{NAME}", 2),
        (answer(NO_SPACE, FunctionError="Unhandled"), "data set: NoSpace: full; its log is", 2),
        (answer("not JSON"), "data set: b'not JSON'", 2),
        (answer(DENIED, FunctionError="Unhandled"), "An error occurred", 180),  # the new role has not spread
        (refusal("AccessDeniedException", "lambda:InvokeFunction"), "lambda:InvokeFunction", 2),
        (EndpointConnectionError(endpoint_url="http://nowhere"), f"invoking {NAME}", 0),  # it may run
    ],
)
def test_a_failure_is_one_line_that_names_the_function_after_a_second_attempt(answered, words, ends_s):
    stack = stack_of(answered)
    with pytest.raises(RunError) as error:
        seed(stack, {}, sleep=stack.sleep)
    assert words in str(error.value) and "\n" not in str(error.value)
    assert stack.now_s == ends_s


def test_what_a_cell_needs_is_placed_in_turn_and_not_again_on_the_same_stack(monkeypatch):
    def halves(values):
        return [{"set": values["set"], "half": half} for half in (1, 2)]

    changed = EXPERIMENTS["filesystem"].with_(seeding=Seeding("placing_function_name", halves))
    monkeypatch.setitem(EXPERIMENTS, "filesystem", changed)
    stack, done = stack_of(answer('{"status": "ok"}')), set()
    for name in "aba":
        seed(stack, {"set": name}, done)
    assert [event for _, event in stack.invocations] == [
        {"set": name, "half": half} for name in "ab" for half in (1, 2)
    ]
    for outputs in ({"experiment": "download"}, OUTPUTS | {"placing_function_name": None}):
        without = stack_of(outputs=outputs)
        seed(without, {"set": "a"})
        assert without.invocations == []


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


# After an apply that wrote the function's role, one invocation shows that the permissions are in force.

ALLOWED = answer('{"batchItemFailures": []}')


def failed(error_type, error_message):
    """The answer of a function whose operation ended with an error."""
    log = f"START\n{record(0, 'error', error_type=error_type, error_message=error_message)}\nREPORT\n"
    return answer('{"batchItemFailures": [{}]}', LogResult=base64.b64encode(log.encode()))


REFUSED = failed("AccessDenied", "GetObject 403: the role may not read the object")
NOT_ALLOWED = refusal("AccessDeniedException", "lambda:InvokeFunction")


@pytest.mark.parametrize(
    ("answers", "slept", "said"),
    [
        ([ALLOWED], [], "checking its permissions"),
        (
            [REFUSED, refusal("EFSMountFailureException"), refusal("TooManyRequestsException"), ALLOWED],
            [2, 4, 8],
            "403",
        ),
        ([failed("SlowDown", "503")], [], "the permissions couldn't be checked (SlowDown: 503)"),
        ([NOT_ALLOWED], [], "the permissions couldn't be checked (AccessDeniedException: lambda:InvokeFunction)"),
    ],
    ids=["allowed", "not in force yet", "another failure", "not allowed to ask"],
)
def test_a_function_that_is_refused_is_asked_again_and_any_other_failure_is_left_to_the_flood(
    answers, slept, said, capsys
):
    stack = stack_of(*answers, outputs={"function_name": "f", "region": "us-east-1"})
    wait_for_permission(stack, "a", {"proof": 1}, sleep=stack.sleep)
    assert stack.slept == slept
    assert said in capsys.readouterr().err
    [message] = stack.invocations[0][1]["Records"]
    of_no_run = {"run_id": "permission-proof", "seq": 0, "warm_up": 1, "cell": "a", "proof": 1}
    assert json.loads(message["body"]) == of_no_run and "receiptHandle" not in message


def test_a_permission_that_never_comes_is_named_with_its_role():
    stack = stack_of(REFUSED, outputs={"function_name": "f", "worker_role_name": "stampede-role"})
    with pytest.raises(RunError, match=r"a: 1\d\d s after the apply .*GetObject 403: the role may not .*stampede-role"):
        wait_for_permission(stack, "a", {}, sleep=stack.sleep)
