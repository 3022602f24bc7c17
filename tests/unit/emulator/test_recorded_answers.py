"""The embedded AWS gives AWS's recorded answers to the same calls, or the evidence book names the
difference.

A placeholder in a recorded answer matches any value.
"""

import contextlib
import functools
import io
import json
import re
import time
import zipfile
import zlib
from base64 import b64encode

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError
from botocore.httpsession import URLLib3Session

from tests.aws_answers import ANSWERS, same_but_names
from tests.emulator import embedded_aws
from tests.emulator.embedded_aws import make_role
from tests.evidence import BOOK

OBJECT = b'{"key": "value"}'  # the recorded ETag and checksum are of this
SOURCE = "arn:aws:sqs:us-east-1:000000000000:q"
RECORDED_TRACE = ANSWERS["sqs-30"]["answer"]["fields"]["Attributes"]["AWSTraceHeader"]
# It logs the beginning of a record, for which the embedded AWS waits.
FUNCTION = """
import json, time
def handler(event, context):
    messages = event["Records"] if isinstance(event, dict) else []
    counts = [message["attributes"]["ApproximateReceiveCount"] for message in messages]
    print(json.dumps({"concurrency_limit": 1, "id": context.aws_request_id, "counts": counts}))
    name = messages[0]["body"] if messages else event
    if name in ("com-67", "x-52"):
        raise Exception("Failed: some_error_msg")
    if name == "lam-65":
        time.sleep(9)
    if name == "x-53":
        return {"batchItemFailures": [{"foo": "notvalid"}]}
    if name == "x-55":
        failed = messages[1:] if counts[0] == "1" else []
        return {"batchItemFailures": [{"itemIdentifier": row["messageId"]} for row in failed]}
    return "x" * 6291557 if name == "lam-69" else None
"""
REPLAYED = {}


def replays(*names):
    """Register the function that replays these recorded calls."""

    def note(ask):
        REPLAYED.update(dict.fromkeys(names, ask))
        return ask

    return note


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """The access to an embedded AWS, and its clients by service."""
    with embedded_aws.embedded_aws(tmp_path_factory.mktemp("state")) as running:
        access = running.access
        yield access, functools.cache(lambda service: embedded_aws.client(service, access))


@pytest.fixture
def aws(running):
    """The clients of an empty AWS."""
    access, clients = running
    reset = AWSRequest("POST", f"{access.endpoint_url}/_ministack/reset", data=b"")
    key = Credentials(access.access_key_id, access.secret_access_key)
    SigV4Auth(key, "sts", embedded_aws.REGION).add_auth(reset)
    URLLib3Session().send(reset.prepare())
    return clients


def queue(aws, **attributes):
    """A client of SQS, and the arguments that name a new queue."""
    sqs = aws("sqs")
    return sqs, {"QueueUrl": sqs.create_queue(QueueName="q", Attributes=attributes)["QueueUrl"]}


def entries(*sizes, **more):
    return {
        "Entries": [
            {"Id": str(n), "MessageBody": "x" * size} | more for n, size in enumerate(sizes)
        ]
    }


HANDLES = [
    {"Id": str(number), "ReceiptHandle": "h", "VisibilityTimeout": 0} for number in range(20)
]
CALLS_TO_SQS = {
    "sqs-01": ("send_message", {"MessageBody": "x" * (2**20 + 1)}),
    "sqs-20": ("send_message", {"MessageBody": ""}),
    "sqs-23": (
        "send_message",
        {"MessageBody": "x", "QueueUrl": "http://127.0.0.1/000000000000/missing"},
    ),
    "sqs-03": ("send_message_batch", entries(2**19, 2**19 + 1)),
    "sqs-06": ("send_message_batch", entries(*20 * [1])),
    "sqs-07": ("send_message_batch", entries(1, Id="an id!")),
    "sqs-10": ("change_message_visibility_batch", {"Entries": HANDLES}),
    "sqs-14": ("get_queue_attributes", {"AttributeNames": ["All"]}),
    "sqs-15": ("get_queue_attributes", {"AttributeNames": ["All"]}),
    "sqs-16": ("receive_message", {}),
    "sqs-18": ("receive_message", {"WaitTimeSeconds": 21}),
    "sqs-19": ("receive_message", {"WaitTimeSeconds": -1}),
    "sqs-24": ("purge_queue", {}),
}


@replays(*CALLS_TO_SQS)
def _(aws, name):
    attributes = {
        "MessageRetentionPeriod": "604800",
        "ReceiveMessageWaitTimeSeconds": "10",
        "VisibilityTimeout": "20",
    }
    sqs, where = queue(aws, **attributes if name == "sqs-15" else {})
    if name in ("sqs-18", "sqs-19"):
        sqs.send_message(**where, MessageBody="ends the wait")
    if name == "sqs-24":
        sqs.purge_queue(**where)
    operation, request = CALLS_TO_SQS[name]
    return getattr(sqs, operation)(**where | request)


@replays("sqs-visible")
def _(aws, _name):
    sqs, where = queue(aws, VisibilityTimeout="1")
    sqs.send_message(**where, MessageBody="x")
    [message] = sqs.receive_message(**where)["Messages"]
    return sqs.change_message_visibility(
        **where, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=2
    )


@replays("sqs-26")
def _(aws, _name):
    sqs, where = queue(aws)
    sqs.send_message(**where, MessageBody="x")
    earlier = sqs.receive_message(**where, VisibilityTimeout=0)["Messages"][0]
    sqs.receive_message(**where, VisibilityTimeout=0)
    sqs.delete_message(**where, ReceiptHandle=earlier["ReceiptHandle"])
    return sqs.receive_message(**where)


@replays("sqs-30")
def _(aws, _name):
    sqs, letters = queue(aws)
    redrive = json.dumps({"deadLetterTargetArn": SOURCE, "maxReceiveCount": 1})
    where = {
        "QueueUrl": sqs.create_queue(QueueName="source", Attributes={"RedrivePolicy": redrive})[
            "QueueUrl"
        ]
    }
    trace = {"AWSTraceHeader": {"StringValue": RECORDED_TRACE, "DataType": "String"}}
    attributes = {"MyAttribute": {"StringValue": "foobar", "DataType": "String"}}
    sqs.send_message(
        **where,
        MessageBody="message-1",
        MessageAttributes=attributes,
        MessageSystemAttributes=trace,
    )
    for _ in range(2):
        sqs.receive_message(**where, VisibilityTimeout=0)
    everything = {"MessageSystemAttributeNames": ["All"], "MessageAttributeNames": ["All"]}
    return sqs.receive_message(**letters, **everything)["Messages"][0]


def function(aws):
    """A client of Lambda with a function `f`."""
    code = io.BytesIO()
    with zipfile.ZipFile(code, "w") as archive:
        archive.writestr("index.py", FUNCTION)
    settings = {"Runtime": "python3.12", "Handler": "index.handler", "Timeout": 1}
    functions, role = aws("lambda"), make_role(aws("iam"), "any")
    functions.create_function(
        FunctionName="f", Role=role, Code={"ZipFile": code.getvalue()}, **settings
    )
    functions.get_waiter("function_active_v2").wait(FunctionName="f", WaiterConfig={"Delay": 0.1})
    return functions


MAPPINGS = {
    "esm-39": {},
    "esm-42": {"BatchSize": 1},
    "esm-43": {
        "BatchSize": 20,
        "MaximumBatchingWindowInSeconds": 1,
        "ScalingConfig": {"MaximumConcurrency": 2},
    },
    "esm-45": {"FunctionResponseTypes": ["ReportBatchItemFailures"]},
    "esm-47": {},
    "esm-48": {},
    "esm-49": {},
}


@replays(*MAPPINGS)
def _(aws, name):
    functions, request = function(aws), {"FunctionName": "f", "EventSourceArn": SOURCE}
    if name != "esm-49":
        queue(aws)
    made = functions.create_event_source_mapping(**request, **MAPPINGS[name])
    if name == "esm-42":
        return functions.get_event_source_mapping(UUID=made["UUID"])
    if name == "esm-47":
        return functions.update_event_source_mapping(UUID=made["UUID"], Enabled=True)
    return functions.create_event_source_mapping(**request) if name == "esm-48" else made


@replays("x-52", "x-53", "x-55", "esm-empty")
def _(aws, name):
    """The fate of a batch whose function raises, returns nonsense or nothing, or names three of
    four messages."""
    functions, (sqs, where) = function(aws), queue(aws, VisibilityTimeout="1")
    for _ in range(4 if name == "x-55" else 1):
        sqs.send_message(**where, MessageBody=name)
    functions.create_event_source_mapping(
        FunctionName="f", EventSourceArn=SOURCE, FunctionResponseTypes=["ReportBatchItemFailures"]
    )
    # An empty reply deletes the message, so the second delivery must not come.
    patience_s = 3 if name == "esm-empty" else 60
    logs, lines, deadline = aws("logs"), [], time.monotonic() + patience_s
    while len(lines) < 2 and (time.monotonic() < deadline or not lines):
        time.sleep(0.2)
        with contextlib.suppress(logs.exceptions.ResourceNotFoundException):
            events = logs.filter_log_events(logGroupName="/aws/lambda/f")["events"]
            lines = [event["message"] for event in events if "counts" in event["message"]]
    counts = [json.loads(line)["counts"] for line in lines]
    if name == "x-55":
        first, second = map(len, counts)
        return {
            "records in the first invocation": first,
            "reported": 3,
            "records in the second": second,
        }
    return {"ApproximateReceiveCount": [count for [count] in counts]}


@replays("lam-60", "lam-61", "lam-63", "lam-64")
def _(aws, name):
    functions = function(aws)
    if name == "lam-63":
        return functions.get_function_concurrency(FunctionName="f")
    reserved = 3 if name == "lam-64" else 0
    put = functions.put_function_concurrency(
        FunctionName="f", ReservedConcurrentExecutions=reserved
    )
    return functions.invoke(FunctionName="f") if name == "lam-61" else put


@replays("lam-65", "com-67", "lam-69", "lam-74")
def _(aws, name):
    """The answer of an invocation, or its log lines."""
    answer = function(aws).invoke(FunctionName="f", Payload=json.dumps(name))
    if name == "lam-74":
        events = aws("logs").filter_log_events(logGroupName="/aws/lambda/f")["events"]
        report = events[-1]["message"]  # compared without figures
        return {
            "parts of REPORT": re.sub(
                r"[\da-f-]{36}|[\d.]+(?= ms)|(?<=Used: )\d+", "<...>", report
            ).split("\t")[2:]
        }
    payload = json.loads(answer["Payload"].read())
    return answer | {"Payload": payload if isinstance(payload, dict) else {}}


def events(*times_ms):
    return {"logEvents": [{"timestamp": time_ms, "message": "x"} for time_ms in times_ms]}


CALLS_TO_LOGS = {
    "ev-84": ("put_log_events", {"logStreamName": "missing"} | events(1)),
    "ev-85": (
        "put_log_events",
        {"logStreamName": "s"} | events(2_000_000_000_000, 1_000_000_000_000),
    ),
    "ev-87": ("put_log_events", {"logStreamName": "s"} | events(4_000_000_000_000)),
    "fe-90": ("filter_log_events", {"limit": 10_001}),
    "fe-token": ("filter_log_events", {"nextToken": "of nobody"}),
    "gr-91": ("create_log_group", {}),
}


@replays(*CALLS_TO_LOGS)
def _(aws, name):
    logs, group = aws("logs"), {"logGroupName": "g"}
    logs.create_log_group(**group)
    logs.create_log_stream(**group, logStreamName="s")
    operation, request = CALLS_TO_LOGS[name]
    return getattr(logs, operation)(**group, **request)


def stored(aws, body=OBJECT):
    """A client of S3, the arguments that name a new object, and the answer to its upload."""
    s3, where = aws("s3"), {"Bucket": "bucket", "Key": "k"}
    s3.create_bucket(Bucket="bucket")
    crc = b64encode(zlib.crc32(body).to_bytes(4)).decode()
    return s3, where, s3.put_object(**where, Body=body, ChecksumCRC32=crc)


COPIES = {
    "s3-97": {"Key": "k"},
    "s3-100": {"CopySource": "bucket/random-src-key"},
    "s3-103": {"CopySource": "bucket"},
    "s3p-104": {"CopySourceIfMatch": '"other"'},
    "s3-none-match": {"Key": "k", "MetadataDirective": "REPLACE", "IfNoneMatch": "*"},
    "s3-96": {
        "MetadataDirective": "REPLACE",
        "Metadata": {"another-key": "value"},
        "ContentType": "image/jpg",
    },
}


@replays(*COPIES)
def _(aws, name):
    s3, where, _ = stored(aws)
    copied = s3.copy_object(**{**where, "Key": "copy", "CopySource": "bucket/k", **COPIES[name]})
    return s3.head_object(Bucket="bucket", Key="copy") if name == "s3-96" else copied


PUTS = {
    "s3-111": {"ChecksumCRC32": "AAAAAA=="},
    "s3-112": {"ChecksumCRC32": "MzVIGw==", "ChecksumSHA1": "AAAA"},
    "s3a-113": {"IfNoneMatch": "*"},
}


@replays("s3-110", *PUTS)
def _(aws, name):
    s3, where, put = stored(aws)
    return put if name == "s3-110" else s3.put_object(**where, Body=OBJECT, **PUTS[name])


GETS = {
    "s3-116": {"Range": "bytes=1024-4096"},
    "s3-119": {"IfMatch": '"other"'},
    "s3-120": {},
    "s3-123": {"Range": "bytes=0-1", "PartNumber": 1},
}


@replays(*GETS)
def _(aws, name):
    s3, where, put = stored(aws, b"12345678")
    return s3.get_object(**where, **GETS[name] or {"IfNoneMatch": put["ETag"]})


@replays("s3-127", "s3-128", "s3-129")
def _(aws, name):
    s3, where, _ = stored(aws)
    upload = {**where, "UploadId": s3.create_multipart_upload(**where)["UploadId"]}
    body = b"x" * 5 * 2**20
    etags = [s3.upload_part(**upload, PartNumber=number, Body=body)["ETag"] for number in (1, 3)]
    parts = {"s3-127": [(1, 0), (2, 1)], "s3-128": [(3, 1), (1, 0)], "s3-129": [(1, 0), (3, 1)]}[
        name
    ]
    part_list = [{"PartNumber": number, "ETag": etags[place]} for number, place in parts]
    completed = s3.complete_multipart_upload(**upload, MultipartUpload={"Parts": part_list})
    return s3.list_parts(**upload) if name == "s3-129" else completed


@replays("s3-130")
def _(aws, _name):
    s3, _, _ = stored(aws)
    for number in range(5):
        s3.put_object(Bucket="bucket", Key=str(number), Body=b"")
    return s3.delete_objects(
        Bucket="bucket", Delete={"Objects": [{"Key": str(number)} for number in range(5)]}
    )


def recorded_answer(name):
    """The recorded answer; of an invocation's lines only the last, without its figures."""
    answer = ANSWERS[name]["answer"]
    if name != "lam-74":
        return answer
    return {
        "fields": {
            "parts of REPORT": re.sub(r"<[\w-]+>", "<...>", answer["fields"]["logs"][-1])
            .strip()
            .split("\t")[2:]
        }
    }


def outcome(aws, name):
    """The difference between the embedded AWS's answer and the recorded one, in words, or ""."""
    ask, answer = REPLAYED[name], recorded_answer(name)
    try:
        actual = ask(aws, name)
    except ClientError as error:
        refusal = error.response["Error"]
        status = error.response["ResponseMetadata"]["HTTPStatusCode"]
        if (status, refusal["Code"]) != (answer["status"], answer.get("code")):
            return f"{status} {refusal['Code']}"
        lacking = [
            key
            for key in answer
            if key not in ("status", "code", "message")
            and not refusal.get(key)
            and not error.response.get(key)
        ]
        if not same_but_names(answer["message"], refusal["Message"]):
            return refusal["Message"]
        return f"no {', '.join(lacking)}" if lacking else ""
    return "done" if "code" in answer else differences(answer["fields"], actual)


def differences(recorded, actual, path=""):
    """Missing and different members, in words."""
    deviations = []
    for key, value in recorded.items():
        if key not in actual:
            deviations.append(f"no {path}{key}")
        elif isinstance(value, dict):
            deviations.append(differences(value, actual[key], f"{path}{key}."))
        elif not is_placeholder(value) and not same_but_names(str(value), str(actual[key])):
            deviations.append(
                f"{path}{key} {actual[key] if isinstance(value, str) else json.dumps(actual[key])}"
            )
    return "; ".join(filter(None, deviations))


def is_placeholder(value):
    """Whether the value differs in every recording."""
    text = json.dumps(value)
    return value in ("timestamp", "datetime", "copy-etag") or "too-new-log" in text


@pytest.mark.parametrize("name", sorted(REPLAYED))
def test_the_embedded_aws_answers_as_recorded_or_the_book_names_the_difference(aws, name):
    expected = {
        answer: gives
        for difference in BOOK["difference"]
        for answer, gives in difference["answers"].items()
    }
    assert outcome(aws, name) == expected.get(name, "")
