"""The loader interprets AWS's recorded answers correctly: lasting and temporary refusals, an empty
queue, a rejected record."""

import json
from types import SimpleNamespace

import pytest
from botocore.exceptions import ClientError

from loader import dataset, invocations
from loader.collecting import message_counts
from loader.sqs.dead_letters import DeadLetters
from loader.sqs.message import Order
from loader.sqs.sending import send_to
from stampede.insights.cloudwatch import run_on_service
from stampede.planning.checks.account import reserved
from stampede.stacks import target as targets
from stampede.stacks.aws_errors import AFTER_APPLY, kind_of
from stampede.stacks.target import Target
from stampede.sweep import sweep as sweep_run
from tests.aws_answers import ANSWERS, answering, recorded
from tests.fakes.loopback import Request
from tests.fakes.own_sleep import replace_sleep
from tests.fakes.s3 import FakeS3
from tests.fakes.simulated_aws import OUTPUTS, SimulatedAws
from tests.fakes.sqs import FakeSqs
from tests.faults.sqs_floods import endpoint

PUT_RECORD = (
    "put_log_events",
    {"logGroupName": "g", "logStreamName": "s", "logEvents": [{"timestamp": 1, "message": "x"}]},
)
COMPLETE = ("complete_multipart_upload", {"Bucket": "b", "Key": "k", "UploadId": "u"})
ASK_LOGS, INVOKE = ("filter_log_events", {"logGroupName": "g"}), ("invoke", {"FunctionName": "f"})
RECEIVE, QUEUE = ("receive_message", {"QueueUrl": "q"}), {"QueueUrl": "q"}
# The loader's calls that a recorded answer refuses, by answer, and whether repeating the call
# can succeed.
REFUSED = {
    "sqs-10": (("change_message_visibility_batch", QUEUE | {"Entries": []}), "lasts"),
    "sqs-18": (RECEIVE, "lasts"),
    "sqs-19": (RECEIVE, "lasts"),
    "sqs-23": (("get_queue_attributes", QUEUE), "is final"),
    "sqs-24": (("purge_queue", QUEUE), "lasts"),
    "lam-61": (INVOKE, "passes"),
    "lam-62": (INVOKE, "passes"),
    "ev-84": (PUT_RECORD, "is final"),
    "ev-85": (PUT_RECORD, "lasts"),
    "fe-90": (ASK_LOGS, "lasts"),
    "fe-token": (ASK_LOGS, "lasts"),
    "gr-91": (("create_log_group", {"logGroupName": "g"}), "lasts"),
    "s3-100": (("copy_object", {"Bucket": "b", "Key": "k", "CopySource": "b/k"}), "lasts"),
    "s3-111": (("put_object", {"Bucket": "b", "Key": "k"}), "lasts"),
    "s3-127": (COMPLETE, "lasts"),
    "s3-128": (COMPLETE, "lasts"),
    "s3-129": (COMPLETE, "lasts"),
}


class AwsAsRecorded(Target):
    """A stack on AWS whose services give the recorded answer of this name."""

    def client(self, service, **config):
        return answering(service, self["name"])


def aws(name):
    return AwsAsRecorded("aws", OUTPUTS | {"queue_name": "q", "bucket_name": "b", "name": name})


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_is_classified_and_shown_in_awss_words(name):
    (method, arguments), kind = REFUSED[name]
    stack, (_, code, message) = aws(name), recorded(name)
    client = stack.client(ANSWERS[name]["service"])
    with pytest.raises(ClientError) as raised:
        getattr(client, method)(**arguments)
    error = raised.value
    assert error.response["Error"]["Code"] == code
    assert kind_of(error).passes == (kind == "passes")
    assert kind_of(error).is_final == (kind == "is final")
    if method == "complete_multipart_upload":  # NoSuchUpload: S3 had already completed it
        assert isinstance(error, client.exceptions.NoSuchUpload) is (name == "s3-129")
    shown = str(targets.explain(error, "asking", stack))
    assert " ".join(message.split()) in shown or "no such queue" in shown


@pytest.mark.parametrize("name", ["sqs-03", "sqs-06", "sqs-07"])
def test_a_refused_batch_ends_the_flood_and_left_nothing_in_the_queue(name):
    with FakeSqs(name) as sqs:
        outcome = send_to(
            endpoint(sqs.url), sqs.queue_url, [Order(0, "x"), Order(1, "y")], lambda batch: None
        )
    assert (outcome.sent, outcome.failed, outcome.maybe_sent, outcome.requests) == (0, 2, 0, 1)
    assert f"{ANSWERS[name]['answer']['QueryErrorCode']}: {recorded(name)[2]}" in outcome.reason


def test_of_a_batch_only_the_messages_listed_as_failed_were_not_sent():
    orders, taken = [Order(0, "a" * 1024), Order(1, "a" * 1025)], []
    with FakeSqs("sqs-partial") as sqs:
        outcome = send_to(endpoint(sqs.url), sqs.queue_url, orders, taken.extend)
    assert (outcome.sent, outcome.failed, outcome.maybe_sent, outcome.requests) == (1, 1, 0, 1)
    assert [message.seq for message in taken] == [0]
    assert ANSWERS["sqs-partial"]["answer"]["fields"]["Failed"][0]["Message"] in outcome.reason


def test_a_dead_letter_is_the_message_that_was_sent_and_an_empty_queue_has_none():
    assert list(DeadLetters(answering("sqs", "sqs-16"), "q").look(5)) == []
    empty = SimulatedAws("aws", OUTPUTS).receive_message("dead", VisibilityTimeout=1)
    assert empty == ANSWERS["sqs-16"]["answer"]["fields"]
    for name in ("sqs-14", "sqs-15"):
        assert message_counts(answering("sqs", name), "q") == (0, 0)
    order = {"run_id": "r", "cell": "a", "seq": 7}
    letter = ANSWERS["sqs-30"]["answer"]["fields"] | {"Body": json.dumps(order)}
    sqs = SimpleNamespace(receive_message=lambda **_: {"Messages": [letter]})
    [[read]] = DeadLetters(sqs, "q").look(1)
    assert read.items() >= (order | {"message_id": letter["MessageId"]}).items()


def test_a_purge_refused_because_of_an_earlier_one_is_repeated_after_a_minute(
    monkeypatch,
):
    answers, slept = ["sqs-24"], []

    class Queue(Target):
        def client(self, service):
            return self

        def purge_queue(self, QueueUrl):
            if answers:
                answering("sqs", answers.pop()).purge_queue(QueueUrl=QueueUrl)
            slept.append("purged")

        def get_queue_attributes(self, **arguments):
            return answering("sqs", "sqs-14").get_queue_attributes(QueueUrl="q")

    replace_sleep(monkeypatch, sweep_run, slept.append)
    sweep_run._drop_messages(Queue("aws", OUTPUTS), "of a test", 61)
    assert slept == [60.0, "purged", 61]


@pytest.mark.parametrize("name", ["lam-65", "com-67", "lam-69", "lam-61", "lam-62"])
def test_a_failed_invocation_says_why_and_is_repeated_only_if_it_was_refused(name):
    answer = ANSWERS[name]["answer"]
    if name in REFUSED:
        expected = {}, "TooManyRequestsException: Rate Exceeded."
        stack = aws(name)
    else:
        fields, stack = answer["fields"], SimulatedAws("aws", OUTPUTS)
        stack.answers.append(
            fields | {"Payload": json.dumps(fields["Payload"]).encode(), "LogResult": ""}
        )
        expected = fields["Payload"], fields["Payload"]["errorMessage"]
    result, why = invocations.invoke(stack, "f", {})
    assert ((result, why), bool(AFTER_APPLY.search(why))) == (expected, name in REFUSED)


@pytest.mark.parametrize(("name", "count"), [("lam-63", 0), ("lam-64", 3), ("lam-60", 0)])
def test_reserved_concurrency_is_zero_if_the_answer_has_none(name, count):
    assert reserved(answering("lambda", name), "f") == count


def test_the_head_of_an_object_is_read_as_recorded():
    head = dataset.head(answering("s3", "s3-96"), "b", "k")
    assert (head["ContentLength"], head["Metadata"]) == (16, {"another-key": "value"})


def test_a_query_in_whole_seconds_covers_all_its_milliseconds():
    period = {}
    logs = SimpleNamespace(
        start_query=lambda **arguments: period.update(arguments) or {"queryId": "q"},
        get_query_results=lambda queryId: {"status": "Complete", "results": []},
    )
    run_on_service(logs, "g", "fields @message", 1_500, 9_001)
    [query] = ANSWERS["q-82"]["answer"]["fields"]["queries"]
    assert "START=<start-time>000 END=<end-time>999" in query["queryString"]
    assert period["startTime"] * 1000 <= 1_500 and period["endTime"] * 1000 + 999 >= 9_001


DAMAGED = {"x-amz-checksum-crc32": "AAAAAA=="}


@pytest.mark.parametrize(
    ("name", "request_made"),
    [
        ("s3-129", Request("POST", "/b/k", {"uploadId": "gone"})),
        ("s3-111", Request("PUT", "/b/k", {"uploadId": "u", "partNumber": "1"}, DAMAGED, b"x")),
    ],
)
def test_the_loaders_fake_of_s3_answers_as_recorded(name, request_made):
    answered, _, body = FakeS3().answer(request_made)
    status, code, _ = recorded(name)
    assert answered == status and f"<Code>{code}</Code>" in body.decode()
