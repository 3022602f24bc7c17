"""What AWS was recorded to answer is what the loader takes it for: a refusal that lasts or passes, an empty queue, a
record that wasn't taken."""

import json

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
from tests.aws_answers import ANSWERS, answering, recorded, same_but_names
from tests.fakes.loopback import Request
from tests.fakes.own_sleep import replace_sleep
from tests.fakes.s3 import FakeS3
from tests.fakes.simulated_aws import OUTPUTS, SimulatedAws
from tests.fakes.sqs import FakeSqs
from tests.faults.sqs_floods import endpoint

EVENTS = [{"timestamp": 1, "message": "x"}]
# The calls of the loader that are refused in a recorded answer, by the answer: the method of boto3's client, what it is
# given, and whether the same call can succeed later.
REFUSED = {
    "sqs-10": ("change_message_visibility_batch", {"QueueUrl": "q", "Entries": []}, "lasts"),
    "sqs-18": ("receive_message", {"QueueUrl": "q"}, "lasts"),
    "sqs-19": ("receive_message", {"QueueUrl": "q"}, "lasts"),
    "sqs-23": ("get_queue_attributes", {"QueueUrl": "q"}, "is final"),
    "sqs-24": ("purge_queue", {"QueueUrl": "q"}, "lasts"),
    "lam-61": ("invoke", {"FunctionName": "f"}, "passes"),
    "lam-62": ("invoke", {"FunctionName": "f"}, "passes"),
    "ev-84": ("put_log_events", {"logGroupName": "g", "logStreamName": "s", "logEvents": EVENTS}, "is final"),
    "ev-85": ("put_log_events", {"logGroupName": "g", "logStreamName": "s", "logEvents": EVENTS}, "lasts"),
    "fe-90": ("filter_log_events", {"logGroupName": "g"}, "lasts"),
    "fe-token": ("filter_log_events", {"logGroupName": "g"}, "lasts"),
    "gr-91": ("create_log_group", {"logGroupName": "g"}, "lasts"),
    "s3-100": ("copy_object", {"Bucket": "b", "Key": "k", "CopySource": "b/k"}, "lasts"),
    "s3-111": ("put_object", {"Bucket": "b", "Key": "k"}, "lasts"),
    "s3-127": ("complete_multipart_upload", {"Bucket": "b", "Key": "k", "UploadId": "u"}, "lasts"),
    "s3-128": ("complete_multipart_upload", {"Bucket": "b", "Key": "k", "UploadId": "u"}, "lasts"),
    "s3-129": ("complete_multipart_upload", {"Bucket": "b", "Key": "k", "UploadId": "u"}, "lasts"),
}


class AwsAsRecorded(Target):
    """A stack on AWS whose services answer as recorded."""

    def answer(self, name, service=None):
        vars(self).update(name=name, service=service or ANSWERS[name]["service"])
        return self

    def client(self, service, **config):
        return answering(service, self.name)


def aws(name):
    return AwsAsRecorded("aws", OUTPUTS | {"queue_name": "q", "bucket_name": "b"}).answer(name)


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_is_taken_for_what_it_is_and_shown_in_awss_words(name):
    method, arguments, kind = REFUSED[name]
    stack, (status, code, message) = aws(name), recorded(name)
    with pytest.raises(ClientError) as raised:
        getattr(stack.client(stack.service), method)(**arguments)
    error = raised.value
    assert (error.response["ResponseMetadata"]["HTTPStatusCode"], error.response["Error"]["Code"]) == (status, code)
    judged = kind_of(error)
    assert (judged.passes, judged.is_final) == (kind == "passes", kind == "is final")
    shown = str(targets.explain(error, "asking", stack))
    assert " ".join(message.split()) in shown or "there is no such queue in us-east-1" in shown


@pytest.mark.parametrize("name", ["sqs-03", "sqs-06", "sqs-07"])
def test_a_flood_whose_batch_is_refused_ends_and_none_of_it_may_be_in_the_queue(name):
    with FakeSqs(name) as sqs:
        outcome = send_to(endpoint(sqs.url), sqs.queue_url, [Order(0, "x"), Order(1, "y")], lambda batch: None)
    assert (outcome.sent, outcome.failed, outcome.maybe_sent, outcome.requests) == (0, 2, 0, 1)
    _, _, message = recorded(name)
    assert f"answered 400 {ANSWERS[name]['answer']['QueryErrorCode']}: {message}" in outcome.reason


def test_a_message_that_a_batch_lists_as_failed_is_not_sent_and_the_other_is():
    orders = [Order(0, "a" * 1024), Order(1, "a" * 1025)]
    taken = []
    with FakeSqs("sqs-partial") as sqs:
        outcome = send_to(endpoint(sqs.url), sqs.queue_url, orders, taken.extend)
    assert (outcome.sent, outcome.failed, outcome.maybe_sent, outcome.requests) == (1, 1, 0, 1)
    assert [message.seq for message in taken] == [0]
    [failure] = ANSWERS["sqs-partial"]["answer"]["fields"]["Failed"]
    assert f"SQS refused a message: {failure['Code']} {failure['Message']}" in outcome.reason


def test_an_empty_queue_has_no_letters_and_its_counts_are_numbers():
    assert list(DeadLetters(answering("sqs", "sqs-16"), "q").look(5)) == []
    for name in ("sqs-14", "sqs-15"):
        assert message_counts(answering("sqs", name), "q") == (0, 0)


def test_a_dead_letter_is_the_message_that_was_sent():
    letter = ANSWERS["sqs-30"]["answer"]["fields"] | {"Body": json.dumps({"run_id": "r", "cell": "a", "seq": 7})}

    class Queue:
        def receive_message(self, **arguments):
            return {"Messages": [letter]}

    [[read]] = DeadLetters(Queue(), "q").look(1)
    assert [read[name] for name in ("run_id", "cell", "seq", "message_id")] == ["r", "a", 7, letter["MessageId"]]


def test_a_purge_that_is_refused_because_of_an_earlier_one_is_made_again_after_a_minute(monkeypatch, capsys):
    purges, slept = [], []

    class Queue(Target):
        def client(self, service):
            return self

        def purge_queue(self, QueueUrl):
            purges.append(QueueUrl)
            if len(purges) == 1:
                answering("sqs", "sqs-24").purge_queue(QueueUrl=QueueUrl)

        def get_queue_attributes(self, **arguments):
            return answering("sqs", "sqs-14").get_queue_attributes(QueueUrl="q")

    replace_sleep(monkeypatch, sweep_run, slept.append)
    sweep_run._drop_messages(Queue("aws", OUTPUTS), "of a test", 60)
    assert (len(purges), slept) == (2, [60.0, 60])
    assert "waiting 60 s before purging it again" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["lam-61", "lam-62"])
def test_an_invocation_beyond_the_reserved_concurrency_is_made_again(name):
    result, why, _ = seeding.invoke(aws(name), "f", {})
    assert (result, why) == ({}, "TooManyRequestsException: Rate Exceeded.") and AFTER_APPLY.search(why)


@pytest.mark.parametrize("name", ["lam-65", "com-67", "lam-69"])
def test_a_function_that_fails_says_why_and_is_not_asked_again_as_if_it_passed(name):
    fields, stack = ANSWERS[name]["answer"]["fields"], SimulatedAws("aws", OUTPUTS)
    stack.answers.append(fields | {"Payload": json.dumps(fields["Payload"]).encode(), "LogResult": ""})
    result, why, _ = seeding.invoke(stack, "f", {})
    assert (result, why) == (fields["Payload"], fields["Payload"]["errorMessage"])
    assert not AFTER_APPLY.search(why)


@pytest.mark.parametrize(("name", "count"), [("lam-63", 0), ("lam-64", 3), ("lam-60", 0)])
def test_what_a_function_reserves_is_read_from_the_answer_or_from_its_silence(name, count):
    assert reserved(answering("lambda", name), "f") == count


def test_an_upload_that_s3_had_completed_is_gone_and_a_part_that_it_lacks_is_not():
    for name, is_gone in (("s3-129", True), ("s3-127", False), ("s3-128", False)):
        client = answering("s3", name)
        with pytest.raises(ClientError) as raised:
            client.complete_multipart_upload(Bucket="b", Key="k", UploadId="u")
        assert isinstance(raised.value, client.exceptions.NoSuchUpload) is is_gone


def test_an_object_is_known_by_what_its_head_was_recorded_to_say():
    head = dataset.head(answering("s3", "s3-96"), "b", "k")
    assert (head["ContentLength"], head["Metadata"]) == (16, {"another-key": "value"})


def test_a_query_spans_all_of_its_milliseconds_as_the_service_reads_its_seconds():
    period = {}

    class Logs:
        def start_query(self, **arguments):
            period.update(arguments)
            return {"queryId": "q"}

        def get_query_results(self, queryId):
            return {"status": "Complete", "results": []}

    run_on_service(Logs(), "g", "fields @message", 1_500, 9_001)
    [query] = ANSWERS["q-82"]["answer"]["fields"]["queries"]
    assert "START=<start-time>000 END=<end-time>999" in query["queryString"]
    assert period["startTime"] * 1000 <= 1_500 and period["endTime"] * 1000 + 999 >= 9_001


def test_the_loaders_fakes_of_s3_and_sqs_answer_as_recorded():
    damaged = {"x-amz-checksum-crc32": "AAAAAA=="}
    for name, request in (
        ("s3-129", Request("POST", "/b/k", {"uploadId": "gone"})),
        ("s3-111", Request("PUT", "/b/k", {"uploadId": "u", "partNumber": "1"}, damaged, b"x")),
    ):
        answered, _, body = FakeS3().answer(request)
        status, code, _ = recorded(name)
        assert (answered, f"<Code>{code}</Code>" in body.decode()) == (status, True)
    empty = SimulatedAws("aws", OUTPUTS).receive_message("dead", VisibilityTimeout=1)
    assert empty == ANSWERS["sqs-16"]["answer"]["fields"]


def test_placeholders_stand_for_any_text():
    assert same_but_names(recorded("sqs-24")[2], "Only one PurgeQueue operation on q is allowed every 60 seconds.")
    assert not same_but_names("a.b", "axb")
