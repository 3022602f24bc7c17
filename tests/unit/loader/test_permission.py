"""After an apply that wrote the function's role, one invocation shows that the permissions are in force."""

import base64
import json

import pytest
from botocore.exceptions import ClientError

from loader.permission import wait_for_permission
from stampede.errors import RunError
from tests.fakes.simulated_aws import SimulatedAws, record

ALLOWED = {"Payload": b'{"batchItemFailures": []}'}
DENIED = {"error_type": "AccessDenied", "error_message": "GetObject 403: the role may not read the object"}


def failed(**error):
    """The answer of a function whose operation ended with an error."""
    log = f"START\n{record(0, 'error', **error)}\nREPORT\n"
    body = {"batchItemFailures": [{"itemIdentifier": "permission-proof"}]}
    return {"Payload": json.dumps(body).encode(), "LogResult": base64.b64encode(log.encode())}


def wait(*answers):
    """Wait at a stack whose function gives these answers in turn, the last one for ever."""
    stack = SimulatedAws("aws", {"function_name": "f", "worker_role_name": "stampede-role"})
    stack.answers.extend(answers)
    wait_for_permission(stack, "a", {"proof": 1}, sleep=stack.sleep)
    return stack


def test_where_the_permission_is_there_it_takes_one_invocation_of_no_run_and_no_figure():
    stack = wait(ALLOWED)
    [[message]] = [event["Records"] for _, event in stack.invocations]
    body = json.loads(message["body"])
    assert body == {"run_id": "permission-proof", "seq": 0, "warm_up": 1, "cell": "a", "proof": 1}
    assert "receiptHandle" not in message
    assert stack.now_s == 0


def test_a_function_that_is_refused_is_asked_again_until_it_isnt(capsys):
    mount = ClientError({"Error": {"Code": "EFSMountFailureException", "Message": "access denied"}}, "Invoke")
    throttled = ClientError({"Error": {"Code": "TooManyRequestsException", "Message": "Rate Exceeded."}}, "Invoke")
    stack = wait(failed(**DENIED), mount, throttled, ALLOWED)
    assert (len(stack.invocations), stack.now_s) == (4, 2 + 4 + 8)
    assert capsys.readouterr().err.count("not in force yet (AccessDenied)") == 1


def test_a_permission_that_never_comes_is_named_with_its_role():
    with pytest.raises(RunError, match=r"a: 1\d\d s after the apply .*GetObject 403: the role may not .*stampede-role"):
        wait(failed(**DENIED))


@pytest.mark.parametrize(
    "failure",
    [
        failed(error_type="SlowDown", error_message="503"),
        ClientError({"Error": {"Code": "AccessDeniedException", "Message": "lambda:InvokeFunction"}}, "Invoke"),
    ],
)
def test_any_other_failure_is_said_and_left_to_the_flood(failure, capsys):
    assert wait(failure).now_s == 0
    assert "the permissions couldn't be checked" in capsys.readouterr().err
