"""A function of the stack writes the data set and proves its new permissions; each failure is
one line."""

import base64
import json

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from experiments import EXPERIMENTS
from loader.invocations import CONFIG, seed, wait_for_permission
from stampede.errors import RunError
from stampede.experiment import Seeding
from tests.fakes.simulated_aws import record

NAME = "stampede-filesystem-placing-efs"
PLACING = {"experiment": "filesystem", "region": "us-east-1", "placing_function_name": NAME}


def answer(payload, **more):
    return {"Payload": payload.encode(), **more}


def refusal(code, message="not yet"):
    return ClientError({"Error": {"Code": code, "Message": message}}, "Invoke")


@pytest.fixture
def stack(aws):
    """The stack, whose function returns these answers in turn, the last one repeatedly."""

    def with_answers(*answers):
        aws.outputs.update(PLACING)
        vars(aws)["answers"] = list(answers)
        return aws

    return with_answers


def test_an_invocation_that_lambda_refuses_to_start_is_repeated(stack):
    aws = stack(
        *map(refusal, ["ResourceConflictException", "EFSMountConnectivityException"]),
        answer('{"objects": 3}'),
    )
    seed(aws, {}, set())
    assert (aws.slept, aws.invocations) == ([2, 4], [(NAME, {})] * 3)


NO_SPACE = '{"errorMessage": "{\\"error_type\\": \\"NoSpace\\", \\"error_message\\": \\"full\\"}"}'
DENIED = '{"errorMessage": "An error occurred (AccessDenied) when calling PutObject"}'
RECORD = '{"status": "error", "error_type": "OSError", "error_message": "no"}'
UNHANDLED = {"FunctionError": "Unhandled"}


@pytest.mark.parametrize(
    ("answered", "words", "ends_s"),
    [
        (answer(RECORD), f"OSError: no; its log is /aws/lambda/{NAME}", 2),
        (answer(NO_SPACE, **UNHANDLED), "NoSpace: full", 2),
        (answer("not JSON"), "not JSON", 2),
        (answer(DENIED, **UNHANDLED), "AccessDenied", 180),  # the new role has not spread
        (refusal("AccessDeniedException", "lambda:InvokeFunction"), "lambda:InvokeFunction", 2),
        (EndpointConnectionError(endpoint_url="http://nowhere"), "invoking", 0),  # it may run
    ],
)
def test_after_a_second_attempt_a_failure_is_one_line_that_names_the_function(
    stack, answered, words, ends_s
):
    aws = stack(answered)
    with pytest.raises(RunError) as error:
        seed(aws, {}, set())
    said = str(error.value)
    assert (words in said, NAME in said, "\n" in said, aws.now_s) == (True, True, False, ends_s)


def test_a_cells_data_is_written_in_order_and_only_once_per_stack(stack, monkeypatch):
    def events(values):
        return [{"set": values["set"], "half": half} for half in (1, 2)]

    changed = EXPERIMENTS["filesystem"].with_(seeding=Seeding("placing_function_name", events))
    monkeypatch.setitem(EXPERIMENTS, "filesystem", changed)
    aws, done = stack(answer('{"status": "ok"}')), set()
    for name in "aba":
        seed(aws, {"set": name}, done)
    placed = [event for _, event in aws.invocations]
    assert placed == [*events({"set": "a"}), *events({"set": "b"})]
    aws.outputs["placing_function_name"] = None
    seed(aws, {"set": "c"}, set())
    assert len(aws.invocations) == len(placed)


def test_the_connection_of_a_long_invocation_is_probed_every_minute(stack):
    aws = stack(answer('{"objects": 3}'))
    options = aws._endpoint.http_session._socket_options
    options.clear()
    seed(aws, {}, set())
    assert [value for _, _, value in options] == [60, 30] and CONFIG["tcp_keepalive"]


# After an apply that changed the function's role, an invocation proves that the permissions
# are effective.


def failed(error_type, error_message):
    """The answer of a function whose operation failed."""
    log = (
        f"START\n{record(0, 'error', error_type=error_type, error_message=error_message)}\nREPORT\n"
    )
    return answer('{"batchItemFailures": [{}]}', LogResult=base64.b64encode(log.encode()))


ALLOWED = answer('{"batchItemFailures": []}')
REFUSED = failed("AccessDenied", "GetObject 403")
MOUNTING, BUSY = refusal("EFSMountFailureException"), refusal("TooManyRequestsException")


@pytest.mark.parametrize(
    ("answers", "slept", "said"),
    [
        ([ALLOWED], [], ""),
        ([REFUSED, MOUNTING, BUSY, ALLOWED], [2, 4, 8], "403"),
        ([failed("SlowDown", "503")], [2], "couldn't be checked (SlowDown: 503)"),
        ([refusal("AccessDeniedException")], [2], "couldn't be checked (AccessDeniedException"),
    ],
)
def test_a_denied_function_is_invoked_until_it_works_and_other_failures_are_left_to_the_flood(
    stack, answers, slept, said, capsys
):
    aws = stack(*answers)
    wait_for_permission(aws, "a", {"proof": 1})
    assert aws.slept == slept and said in capsys.readouterr().err
    [message] = aws.invocations[0][1]["Records"]
    of_no_run = {"run_id": "permission-proof", "seq": 0, "warm_up": 1, "cell": "a", "proof": 1}
    assert json.loads(message["body"]) == of_no_run and "receiptHandle" not in message


def test_a_permission_that_stays_missing_is_reported_with_its_role(stack):
    aws = stack(REFUSED)
    aws.outputs["worker_role_name"] = "its-role"
    with pytest.raises(RunError, match=r"a: 1\d\d s after .*GetObject 403.*its-role"):
        wait_for_permission(aws, "a", {})
