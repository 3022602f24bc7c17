"""What AWS was recorded to answer is what the loader takes it for: a refusal that lasts or passes,
an empty queue, a record that wasn't taken."""

import json
from types import SimpleNamespace

import pytest
from botocore.exceptions import ClientError

from loader import dataset, seeding
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
# The calls of the loader that are refused in a recorded answer, by the answer, and whether the same
# one can succeed later.
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
    """A stack on AWS whose services answer as recorded under a name."""

    def client(self, service, **config):
        return answering(service, self["name"])


def aws(name):
    return AwsAsRecorded("aws", OUTPUTS | {"queue_name": "q", "bucket_name": "b", "name": name})


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_is_taken_for_what_it_is_and_shown_in_awss_words(name):
    ((method, arguments), kind), stack, (_, code, message) = (
        REFUSED[name],
        aws(name),
        recorded(name),
    )
    client = stack.client(ANSWERS[name]["service"])
    with pytest.raises(ClientError) as raised:
        getattr(client, method)(**arguments)
    error = raised.value
    assert error.response["Error"]["Code"] == code
    assert (kind_of(error).passes, kind_of(error).is_final) == (
        kind == "passes",
        kind == "is final",
    )
    if method == "complete_multipart_upload":  # gone is one that S3 had completed
        assert isinstance(error, client.exceptions.NoSuchUpload) is (name == "s3-129")
    shown = str(targets.explain(error, "asking", stack))
    assert " ".join(message.split()) in shown or "no such queue" in shown


@pytest.mark.parametrize("name", ["sqs-03", "sqs-06", "sqs-07"])
def test_a_flood_whose_batch_is_refused_ends_and_none_of_it_may_be_in_the_queue(name):
    with FakeSqs(name) as sqs:
        outcome = send_to(
            endpoint(sqs.url), sqs.queue_url, [Order(0, "x"), Order(1, "y")], lambda batch: None
        )
    assert (outcome.sent, outcome.failed, outcome.maybe_sent, outcome.requests) == (0, 2, 0, 1)
    assert f"{ANSWERS[name]['answer']['QueryErrorCode']}: {recorded(name)[2]}" in outcome.reason


def test_a_message_that_a_batch_lists_as_failed_is_not_sent_and_the_other_is():
    orders, taken = [Order(0, "a" * 1024), Order(1, "a" * 1025)], []
    with FakeSqs("sqs-partial") as sqs:
        outcome = send_to(endpoint(sqs.url), sqs.queue_url, orders, taken.extend)
    assert (outcome.sent, outcome.failed, outcome.maybe_sent, outcome.requests) == (1, 1, 0, 1)
    assert [message.seq for message in taken] == [0]
    assert ANSWERS["sqs-partial"]["answer"]["fields"]["Failed"][0]["Message"] in outcome.reason


def test_a_letter_is_the_message_that_was_sent_and_an_empty_queue_has_none():
    assert list(DeadLetters(answering("sqs", "sqs-16"), "q").look(5)) == []
    empty = SimulatedAws("aws", OUTPUTS).receive_message("dead", VisibilityTimeout=1)
    assert empty == ANSWERS["sqs-16"]["answer"]["fields"]
    for name in ("sqs-14", "sqs-15"):
        assert message_counts(answering("sqs", name), "q") == (0, 0)
    order = {"run_id": "r", "cell": "a", "seq": 7}
    letter = ANSWERS["sqs-30"]["answer"]["fields"] | {"Body": json.dumps(order)}
    [[read]] = DeadLetters(
        SimpleNamespace(receive_message=lambda **_: {"Messages": [letter]}), "q"
    ).look(1)
    assert read.items() >= (order | {"message_id": letter["MessageId"]}).items()


def test_a_purge_that_is_refused_because_of_an_earlier_one_is_made_again_after_a_minute(
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
def test_a_function_that_fails_says_why_and_is_asked_again_only_where_it_was_refused(name):
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
    result, why, _ = seeding.invoke(stack, "f", {})
    assert ((result, why), bool(AFTER_APPLY.search(why))) == (expected, name in REFUSED)


@pytest.mark.parametrize(("name", "count"), [("lam-63", 0), ("lam-64", 3), ("lam-60", 0)])
def test_what_a_function_reserves_is_read_from_the_answer_or_from_its_silence(name, count):
    assert reserved(answering("lambda", name), "f") == count


def test_an_object_is_known_by_what_its_head_was_recorded_to_say():
    head = dataset.head(answering("s3", "s3-96"), "b", "k")
    assert (head["ContentLength"], head["Metadata"]) == (16, {"another-key": "value"})


def test_a_query_spans_all_of_its_milliseconds_as_the_service_reads_its_seconds():
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
    assert (answered, f"<Code>{recorded(name)[1]}</Code>" in body.decode()) == (
        recorded(name)[0],
        True,
    )
