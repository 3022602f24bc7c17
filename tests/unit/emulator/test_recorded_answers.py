"""The embedded AWS is asked what AWS was asked, and answers as recorded, or the evidence book names
the difference.

A placeholder in a recorded answer stands for anything.
"""

import asyncio
import importlib
import io
import json
import re
import zipfile
import zlib
from base64 import b64encode
from urllib.parse import parse_qs, urlsplit

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.exceptions import ClientError
from ministack.services import lambda_svc
from ministack.services import sqs as sqs_svc

from stampede.emulator import keeper
from tests.aws_answers import ANSWERS, KEYS, Raw, same_but_names
from tests.evidence import BOOK

MODULES = {"sqs": "sqs", "lambda": "lambda_svc", "logs": "cloudwatch_logs", "s3": "s3"}
OBJECT = b'{"key": "value"}'  # what the recorded ETag and checksum are of
SOURCE = "arn:aws:sqs:us-east-1:000000000000:q"
ROLE = "arn:aws:iam::000000000000:role/any"
RECORDED_TRACE = ANSWERS["sqs-30"]["answer"]["fields"]["Attributes"]["AWSTraceHeader"]
FUNCTION = """
import time
def handler(event, context):
    if event == "com-67":
        raise Exception("Failed: some_error_msg")
    if event == "lam-65":
        time.sleep(9)
    print("{}")
    return "x" * 6291557 if event == "lam-69" else None
"""
REPLAYED = {}


def replays(*names):
    """Notes the function that asks what these recorded calls asked."""

    def note(ask):
        REPLAYED.update(dict.fromkeys(names, ask))
        return ask

    return note


@pytest.fixture(autouse=True)
def empty_aws():
    yield
    for name in MODULES.values():
        importlib.import_module(f"ministack.services.{name}").reset()


def client(service):
    """A client of boto3's that tries once, whose calls go straight to MiniStack's handler in this
    process."""
    once = Config(retries={"total_max_attempts": 1}, s3={"addressing_style": "path"})
    made = boto3.client(service, endpoint_url="http://127.0.0.1", config=once, **KEYS)
    module = importlib.import_module(f"ministack.services.{MODULES[service]}")

    def answer(request, **_):
        url, body = urlsplit(request.url), request.body or b""
        headers = {
            name.lower(): value.decode() if isinstance(value, bytes) else value
            for name, value in request.headers.items()
        }
        body = (
            body.encode()
            if isinstance(body, str)
            else body
            if isinstance(body, bytes)
            else body.read()
        )
        query = parse_qs(url.query, keep_blank_values=True)
        status, heads, content = asyncio.run(
            module.handle_request(request.method, url.path, headers, body, query)
        )
        return AWSResponse(
            request.url, status, {k.lower(): v for k, v in heads.items()}, Raw(content)
        )

    made.meta.events.register("before-send", answer)
    return made


def queue(**attributes):
    """A client of SQS, and where a new queue is."""
    sqs = client("sqs")
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
def _(name):
    attributes = {
        "MessageRetentionPeriod": "604800",
        "ReceiveMessageWaitTimeSeconds": "10",
        "VisibilityTimeout": "20",
    }
    sqs, where = queue(**attributes if name == "sqs-15" else {})
    if name in ("sqs-18", "sqs-19"):
        sqs.send_message(**where, MessageBody="ends the wait")
    if name == "sqs-24":
        sqs.purge_queue(**where)
    operation, request = CALLS_TO_SQS[name]
    return getattr(sqs, operation)(**where | request)


@replays("sqs-visible")
def _(_name):
    sqs, where = queue(VisibilityTimeout="1")
    sqs.send_message(**where, MessageBody="x")
    [message] = sqs.receive_message(**where)["Messages"]
    return sqs.change_message_visibility(
        **where, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=2
    )


@replays("sqs-26")
def _(_name):
    sqs, where = queue()
    sqs.send_message(**where, MessageBody="x")
    earlier, _ = (
        sqs.receive_message(**where, VisibilityTimeout=0)["Messages"][0] for _ in range(2)
    )
    sqs.delete_message(**where, ReceiptHandle=earlier["ReceiptHandle"])
    return sqs.receive_message(**where)


@replays("sqs-30")
def _(_name):
    sqs, letters = queue()
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


def function():
    """A client of Lambda with a function `f`."""
    code = io.BytesIO()
    with zipfile.ZipFile(code, "w") as archive:
        archive.writestr("index.py", FUNCTION)
    settings = {"Runtime": "python3.12", "Handler": "index.handler", "Timeout": 1, "Role": ROLE}
    functions = client("lambda")
    functions.create_function(FunctionName="f", Code={"ZipFile": code.getvalue()}, **settings)
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
def _(name):
    functions, request = function(), {"FunctionName": "f", "EventSourceArn": SOURCE}
    if name != "esm-49":
        queue()
    made = functions.create_event_source_mapping(**request, **MAPPINGS[name])
    if name == "esm-42":
        return functions.get_event_source_mapping(UUID=made["UUID"])
    if name == "esm-47":
        return functions.update_event_source_mapping(UUID=made["UUID"], Enabled=True)
    return functions.create_event_source_mapping(**request) if name == "esm-48" else made


@replays("x-52", "x-53", "x-55", "esm-empty")
def _(name):
    """What comes of a batch when the function raises, answers nonsense, nothing, or names three of
    four messages."""
    sqs, where = queue()
    for number in range(4 if name == "x-55" else 1):
        sqs.send_message(**where, MessageBody=str(number))
    first = sqs_svc._receive_messages_for_esm(where["QueueUrl"], 10)
    failed = {
        "x-52": {"error": True},
        "x-53": {"body": {"batchItemFailures": [{"foo": "notvalid"}]}},
        "esm-empty": {"body": {}},
        "x-55": {
            "body": {
                "batchItemFailures": [{"itemIdentifier": message["id"]} for message in first[1:]]
            }
        },
    }
    records = [{"messageId": message["id"], "eventSource": "aws:sqs"} for message in first]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(lambda_svc, "_execute_function", lambda *_: failed[name])
        keeper.fail_a_batch_whose_answer_names_no_message()
        esm = {
            "UUID": "u",
            "FunctionName": "f",
            "FunctionResponseTypes": ["ReportBatchItemFailures"],
        }
        lambda_svc._run_sqs_batch(esm, {}, {"Records": records}, first, where["QueueUrl"], "q")
    for message in first:
        message["visible_at"] = 0  # the timeout is over
    again = sqs_svc._receive_messages_for_esm(where["QueueUrl"], 10)
    if name == "x-55":
        return {
            "records in the first invocation": len(first),
            "reported": 3,
            "records in the second": len(again),
        }
    return {"ApproximateReceiveCount": ["1", *(str(message["receive_count"]) for message in again)]}


@replays("lam-60", "lam-61", "lam-63", "lam-64")
def _(name):
    functions = function()
    if name == "lam-63":
        return functions.get_function_concurrency(FunctionName="f")
    reserved = 3 if name == "lam-64" else 0
    put = functions.put_function_concurrency(
        FunctionName="f", ReservedConcurrentExecutions=reserved
    )
    return functions.invoke(FunctionName="f") if name == "lam-61" else put


@replays("lam-65", "com-67", "lam-69", "lam-74")
def _(name):
    """What an invocation answers, or the lines that it leaves."""
    answer = function().invoke(FunctionName="f", Payload=json.dumps(name))
    if name == "lam-74":
        events = client("logs").filter_log_events(logGroupName="/aws/lambda/f")["events"]
        report = events[-1]["message"]  # without its figures
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
def _(name):
    logs, group = client("logs"), {"logGroupName": "g"}
    logs.create_log_group(**group)
    logs.create_log_stream(**group, logStreamName="s")
    operation, request = CALLS_TO_LOGS[name]
    return getattr(logs, operation)(**group, **request)


def stored(body=OBJECT):
    """A client of S3, where a new object is, and the answer to its upload."""
    s3, where = client("s3"), {"Bucket": "bucket", "Key": "k"}
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
def _(name):
    s3, where, _ = stored()
    copied = s3.copy_object(**{**where, "Key": "copy", "CopySource": "bucket/k", **COPIES[name]})
    return s3.head_object(Bucket="bucket", Key="copy") if name == "s3-96" else copied


PUTS = {
    "s3-111": {"ChecksumCRC32": "AAAAAA=="},
    "s3-112": {"ChecksumCRC32": "MzVIGw==", "ChecksumSHA1": "AAAA"},
    "s3a-113": {"IfNoneMatch": "*"},
}


@replays("s3-110", *PUTS)
def _(name):
    s3, where, put = stored()
    return put if name == "s3-110" else s3.put_object(**where, Body=OBJECT, **PUTS[name])


GETS = {
    "s3-116": {"Range": "bytes=1024-4096"},
    "s3-119": {"IfMatch": '"other"'},
    "s3-120": {},
    "s3-123": {"Range": "bytes=0-1", "PartNumber": 1},
}


@replays(*GETS)
def _(name):
    s3, where, put = stored(b"12345678")
    return s3.get_object(**where, **GETS[name] or {"IfNoneMatch": put["ETag"]})


@replays("s3-127", "s3-128", "s3-129")
def _(name):
    s3, where, _ = stored()
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
def _(_name):
    s3, _, _ = stored()
    for number in range(5):
        s3.put_object(Bucket="bucket", Key=str(number), Body=b"")
    return s3.delete_objects(
        Bucket="bucket", Delete={"Objects": [{"Key": str(number)} for number in range(5)]}
    )


def recorded_answer(name):
    """Of an invocation's lines the last one, without its figures."""
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


def outcome(name):
    """What the embedded AWS answers otherwise than recorded, in words; "" where it answers the
    same."""
    ask, answer = REPLAYED[name], recorded_answer(name)
    try:
        actual = ask(name)
    except ClientError as error:
        refusal, status = (
            error.response["Error"],
            error.response["ResponseMetadata"]["HTTPStatusCode"],
        )
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
    """Members that are missing or other ones, in words."""
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
    """Whether something else stands there in every recording."""
    text = json.dumps(value)
    return value in ("timestamp", "datetime", "copy-etag") or "too-new-log" in text


@pytest.mark.parametrize("name", sorted(REPLAYED))
def test_the_embedded_aws_answers_as_recorded_or_the_book_names_the_difference(name):
    expected = {
        answer: gives
        for difference in BOOK["difference"]
        for answer, gives in difference["answers"].items()
    }
    assert outcome(name) == expected.get(name, "")
