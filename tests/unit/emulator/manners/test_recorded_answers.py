"""The embedded AWS is asked what AWS was asked, and answers as recorded, or the evidence book names the difference.

Of the manners those take part that the recorded calls need. A placeholder in a recorded answer stands for anything.
"""

import io
import json
import re
import zipfile
import zlib
from base64 import b64encode

import pytest
from botocore.exceptions import ClientError
from ministack.services import lambda_svc
from ministack.services import sqs as sqs_svc

from stampede.emulator import keeper
from stampede.emulator.manners.queues import Queues
from stampede.emulator.manners.triggers import Triggers
from tests.aws_answers import ANSWERS, same_but_names
from tests.evidence import BOOK

OBJECT = b'{"key": "value"}'  # what the recorded ETag and checksum are of
SOURCE = "arn:aws:sqs:us-east-1:000000000000:q"
RECORDED_TRACE = ANSWERS["sqs-30"]["answer"]["fields"]["Attributes"]["AWSTraceHeader"]
REPLAYED = {}


def replays(*names):
    """Notes the function that asks what these recorded calls asked."""

    def note(ask):
        REPLAYED.update(dict.fromkeys(names, ask))
        return ask

    return note


def queue(aws, *manners, **attributes):
    """AWS, a client of SQS, and where a new queue is."""
    aws = aws(*manners)
    sqs = aws.client("sqs")
    where = {"QueueUrl": sqs.create_queue(QueueName="q", Attributes=attributes)["QueueUrl"]}
    aws.now += 3
    return aws, sqs, where


def sending(aws, sizes, **more):
    _, sqs, where = queue(aws)
    entries = [{"Id": str(number), "MessageBody": "x" * size} for number, size in enumerate(sizes)]
    return sqs.send_message_batch(**where, Entries=[entry | more for entry in entries])


def receiving(aws, **options):
    _, sqs, where = queue(aws)
    if options:  # a message there ends the wait
        sqs.send_message(**where, MessageBody="x")
    return sqs.receive_message(**where, **options)


@replays("sqs-01")
def _(aws):
    _, sqs, where = queue(aws)
    return sqs.send_message(**where, MessageBody="x" * (2**20 + 1))


@replays("sqs-20")
def _(aws):
    _, sqs, where = queue(aws)
    return sqs.send_message(**where, MessageBody="")


@replays("sqs-03")
def _(aws):
    return sending(aws, [2**19, 2**19 + 1])


@replays("sqs-06")
def _(aws):
    return sending(aws, [1] * 20)


@replays("sqs-07")
def _(aws):
    return sending(aws, [1], Id="an id!")


@replays("sqs-10")
def _(aws):
    _, sqs, where = queue(aws)
    entries = [{"Id": str(number), "ReceiptHandle": "h", "VisibilityTimeout": 0} for number in range(20)]
    return sqs.change_message_visibility_batch(**where, Entries=entries)


@replays("sqs-visible")
def _(aws):
    aws, sqs, where = queue(aws, VisibilityTimeout="1")
    sqs.send_message(**where, MessageBody="x")
    [message] = sqs.receive_message(**where)["Messages"]
    aws.now += 2
    return sqs.change_message_visibility(**where, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=2)


@replays("sqs-14")
def _(aws):
    _, sqs, where = queue(aws)
    return sqs.get_queue_attributes(**where, AttributeNames=["All"])


@replays("sqs-15")
def _(aws):
    attributes = {"MessageRetentionPeriod": "604800", "ReceiveMessageWaitTimeSeconds": "10", "VisibilityTimeout": "20"}
    _, sqs, where = queue(aws, **attributes)
    return sqs.get_queue_attributes(**where, AttributeNames=["All"])


@replays("sqs-16")
def _(aws):
    return receiving(aws)


@replays("sqs-18")
def _(aws):
    return receiving(aws, WaitTimeSeconds=21)


@replays("sqs-19")
def _(aws):
    return receiving(aws, WaitTimeSeconds=-1)


@replays("sqs-23")
def _(aws):
    _, sqs, where = queue(aws)
    return sqs.send_message(QueueUrl=where["QueueUrl"] + "-missing", MessageBody="x")


@replays("sqs-24")
def _(aws):
    _, sqs, where = queue(aws, Queues)
    sqs.purge_queue(**where)
    return sqs.purge_queue(**where)


@replays("sqs-26")
def _(aws):
    _, sqs, where = queue(aws)
    sqs.send_message(**where, MessageBody="x")
    earlier, _ = (sqs.receive_message(**where, VisibilityTimeout=0)["Messages"][0] for _ in range(2))
    sqs.delete_message(**where, ReceiptHandle=earlier["ReceiptHandle"])
    return sqs.receive_message(**where)


@replays("sqs-30")
def _(aws):
    _, sqs, letters = queue(aws)
    redrive = json.dumps({"deadLetterTargetArn": SOURCE, "maxReceiveCount": 1})
    where = {"QueueUrl": sqs.create_queue(QueueName="source", Attributes={"RedrivePolicy": redrive})["QueueUrl"]}
    trace = {"AWSTraceHeader": {"StringValue": RECORDED_TRACE, "DataType": "String"}}
    named = {"MyAttribute": {"StringValue": "foobar", "DataType": "String"}}
    sqs.send_message(**where, MessageBody="message-1", MessageAttributes=named, MessageSystemAttributes=trace)
    for _ in range(2):
        sqs.receive_message(**where, VisibilityTimeout=0)
    wanted = {"MessageSystemAttributeNames": ["All"], "MessageAttributeNames": ["All"]}
    return sqs.receive_message(**letters, **wanted)["Messages"][0]


def mapped(aws, **options):
    """AWS, a client of Lambda, and a mapping that is being made."""
    aws, _, _ = queue(aws, Triggers)
    aws.function("f")
    functions = aws.client("lambda")
    return aws, functions, functions.create_event_source_mapping(FunctionName="f", EventSourceArn=SOURCE, **options)


@replays("esm-39")
def _(aws):
    return mapped(aws)[2]


@replays("esm-43")
def _(aws):
    more = {"MaximumBatchingWindowInSeconds": 1, "ScalingConfig": {"MaximumConcurrency": 2}}
    return mapped(aws, BatchSize=20, **more)[2]


@replays("esm-45")
def _(aws):
    return mapped(aws, FunctionResponseTypes=["ReportBatchItemFailures"])[2]


@replays("esm-42")
def _(aws):
    aws, functions, made = mapped(aws, BatchSize=1)
    aws.now += Triggers.CHANGES_S[1]
    return functions.get_event_source_mapping(UUID=made["UUID"])


@replays("esm-47")
def _(aws):
    aws, functions, made = mapped(aws)
    aws.now += Triggers.CHANGES_S[1]
    return functions.update_event_source_mapping(UUID=made["UUID"], Enabled=True)


@replays("esm-48")
def _(aws):
    _, functions, _ = mapped(aws)
    return functions.create_event_source_mapping(FunctionName="f", EventSourceArn=SOURCE)


@replays("esm-49")
def _(aws):
    aws = aws(Triggers)
    aws.function("f")
    return aws.client("lambda").create_event_source_mapping(FunctionName="f", EventSourceArn=SOURCE)


@replays("x-52", "x-53", "x-55", "esm-empty")
def _(aws, name):
    """What comes of a batch when the function raises, answers nonsense, nothing, or names three of four messages."""
    _, sqs, where = queue(aws)
    for number in range(4 if name == "x-55" else 1):
        sqs.send_message(**where, MessageBody=str(number))
    first = sqs_svc._receive_messages_for_esm(where["QueueUrl"], 10)
    failed = {
        "x-52": {"error": True},
        "x-53": {"body": {"batchItemFailures": [{"foo": "notvalid"}]}},
        "esm-empty": {"body": {}},
        "x-55": {"body": {"batchItemFailures": [{"itemIdentifier": message["id"]} for message in first[1:]]}},
    }
    records = [{"messageId": message["id"], "eventSource": "aws:sqs"} for message in first]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(lambda_svc, "_execute_function", lambda *_: failed[name])
        keeper.fail_a_batch_whose_answer_names_no_message()
        esm = {"UUID": "u", "FunctionName": "f", "FunctionResponseTypes": ["ReportBatchItemFailures"]}
        lambda_svc._run_sqs_batch(esm, {}, {"Records": records}, first, where["QueueUrl"], "q")
    for message in first:
        message["visible_at"] = 0  # the timeout is over
    again = sqs_svc._receive_messages_for_esm(where["QueueUrl"], 10)
    if name == "x-55":
        return {"records in the first invocation": len(first), "reported": 3, "records in the second": len(again)}
    return {"ApproximateReceiveCount": ["1", *(str(message["receive_count"]) for message in again)]}


def reserving(aws, count):
    aws = aws()
    aws.function("f")
    functions = aws.client("lambda")
    return functions, functions.put_function_concurrency(FunctionName="f", ReservedConcurrentExecutions=count)


@replays("lam-60")
def _(aws):
    return reserving(aws, 0)[1]


@replays("lam-64")
def _(aws):
    return reserving(aws, 3)[1]


@replays("lam-61")
def _(aws):
    return reserving(aws, 0)[0].invoke(FunctionName="f")


@replays("lam-63")
def _(aws):
    aws = aws()
    aws.function("f")
    return aws.client("lambda").get_function_concurrency(FunctionName="f")


RUNNING = """
import time
def handler(event, context):
    if event == "com-67":
        raise Exception("Failed: some_error_msg")
    if event == "lam-65":
        time.sleep(9)
    print("{}")
    return "x" * 6291557 if event == "lam-69" else None
"""


@replays("lam-65", "com-67", "lam-69", "lam-74")
def _(aws, name):
    """What an invocation answers, or the lines that it leaves."""
    aws, code = aws(), io.BytesIO()
    with zipfile.ZipFile(code, "w") as archive:
        archive.writestr("index.py", RUNNING)
    settings = {"Runtime": "python3.12", "Handler": "index.handler", "Timeout": 1, "Role": "arn:aws:iam::1:role/any"}
    aws.client("lambda").create_function(FunctionName="f", Code={"ZipFile": code.getvalue()}, **settings)
    answer = aws.client("lambda").invoke(FunctionName="f", Payload=json.dumps(name))
    if name == "lam-74":
        events = aws.client("logs").filter_log_events(logGroupName="/aws/lambda/f")["events"]
        report = events[-1]["message"]  # without its figures
        return {
            "parts of REPORT": re.sub(r"[\da-f-]{36}|[\d.]+(?= ms)|(?<=Used: )\d+", "<...>", report).split("\t")[2:]
        }
    payload = json.loads(answer["Payload"].read())
    return answer | {"Payload": payload if isinstance(payload, dict) else {}}


def stream(aws):
    """A client of Logs, and where a new stream is."""
    logs, where = aws().client("logs"), {"logGroupName": "g", "logStreamName": "s"}
    logs.create_log_group(logGroupName="g")
    logs.create_log_stream(**where)
    return logs, where


@replays("ev-84")
def _(aws):
    logs, where = stream(aws)
    return logs.put_log_events(**where | {"logStreamName": "missing"}, logEvents=[{"timestamp": 1, "message": "x"}])


@replays("ev-85", "ev-87")
def _(aws, name):
    logs, where = stream(aws)
    times = {"ev-85": (2_000_000_000_000, 1_000_000_000_000), "ev-87": (4_000_000_000_000,)}[name]
    return logs.put_log_events(**where, logEvents=[{"timestamp": moment, "message": "x"} for moment in times])


@replays("fe-90", "fe-token")
def _(aws, name):
    requests = {"fe-90": {"limit": 10_001}, "fe-token": {"nextToken": "of nobody"}}
    return stream(aws)[0].filter_log_events(logGroupName="g", **requests[name])


@replays("gr-91")
def _(aws):
    return stream(aws)[0].create_log_group(logGroupName="g")


def stored(aws, body=OBJECT):
    """A client of S3, and where a new object is."""
    s3, where = aws().client("s3"), {"Bucket": "bucket", "Key": "k"}
    s3.create_bucket(Bucket="bucket")
    put = s3.put_object(**where, Body=body, ChecksumCRC32=b64encode(zlib.crc32(body).to_bytes(4)).decode())
    return s3, where, put


def copying(aws, **options):
    s3, where, _ = stored(aws)
    return s3.copy_object(**{**where, "Key": "copy", "CopySource": "bucket/k", **options})


@replays("s3-110")
def _(aws):
    return stored(aws)[2]


@replays("s3-96")
def _(aws):
    s3, where, _ = stored(aws)
    new = {"MetadataDirective": "REPLACE", "Metadata": {"another-key": "value"}, "ContentType": "image/jpg"}
    s3.copy_object(**where | {"Key": "copy"}, CopySource="bucket/k", **new)
    return s3.head_object(**where | {"Key": "copy"})


@replays("s3-97")
def _(aws):
    return copying(aws, Key="k")


@replays("s3-100")
def _(aws):
    return copying(aws, CopySource="bucket/random-src-key")


@replays("s3-103")
def _(aws):
    return copying(aws, CopySource="bucket")


@replays("s3p-104")
def _(aws):
    return copying(aws, CopySourceIfMatch='"other"')


@replays("s3-none-match")
def _(aws):
    return copying(aws, Key="k", MetadataDirective="REPLACE", IfNoneMatch="*")


@replays("s3-111")
def _(aws):
    s3, where, _ = stored(aws)
    return s3.put_object(**where, Body=OBJECT, ChecksumCRC32="AAAAAA==")


@replays("s3-112")
def _(aws):
    s3, where, _ = stored(aws)
    return s3.put_object(**where, Body=OBJECT, ChecksumCRC32="MzVIGw==", ChecksumSHA1="AAAA")


@replays("s3a-113")
def _(aws):
    s3, where, _ = stored(aws)
    return s3.put_object(**where, Body=OBJECT, IfNoneMatch="*")


@replays("s3-116", "s3-119", "s3-120", "s3-123")
def _(aws, name):
    s3, where, put = stored(aws, b"12345678")
    requests = {
        "s3-116": {"Range": "bytes=1024-4096"},
        "s3-119": {"IfMatch": '"other"'},
        "s3-120": {"IfNoneMatch": put["ETag"]},
        "s3-123": {"Range": "bytes=0-1", "PartNumber": 1},
    }
    return s3.get_object(**where, **requests[name])


@replays("s3-127", "s3-128", "s3-129")
def _(aws, name):
    s3, where, _ = stored(aws)
    upload = {**where, "UploadId": s3.create_multipart_upload(**where)["UploadId"]}
    body = b"x" * 5 * 2**20
    etags = [s3.upload_part(**upload, PartNumber=number, Body=body)["ETag"] for number in (1, 3)]
    parts = {"s3-127": [(1, 0), (2, 1)], "s3-128": [(3, 1), (1, 0)], "s3-129": [(1, 0), (3, 1)]}[name]
    part_list = [{"PartNumber": number, "ETag": etags[place]} for number, place in parts]
    completed = s3.complete_multipart_upload(**upload, MultipartUpload={"Parts": part_list})
    return s3.list_parts(**upload) if name == "s3-129" else completed


@replays("s3-130")
def _(aws):
    s3, _, _ = stored(aws)
    for number in range(5):
        s3.put_object(Bucket="bucket", Key=str(number), Body=b"")
    return s3.delete_objects(Bucket="bucket", Delete={"Objects": [{"Key": str(number)} for number in range(5)]})


def recorded_answer(name):
    """Of an invocation's lines the last one, without its figures."""
    answer = ANSWERS[name]["answer"]
    if name != "lam-74":
        return answer
    return {
        "fields": {
            "parts of REPORT": re.sub(r"<[\w-]+>", "<...>", answer["fields"]["logs"][-1]).strip().split("\t")[2:]
        }
    }


def outcome(name, aws):
    """What the embedded AWS answers otherwise than recorded, in words; "" where it answers the same."""
    ask, answer = REPLAYED[name], recorded_answer(name)
    try:
        actual = ask(aws, name) if ask.__code__.co_argcount == 2 else ask(aws)
    except ClientError as error:
        refusal, status = error.response["Error"], error.response["ResponseMetadata"]["HTTPStatusCode"]
        if (status, refusal["Code"]) != (answer["status"], answer.get("code")):
            return f"{status} {refusal['Code']}"
        lacking = [
            key
            for key in answer
            if key not in ("status", "code", "message") and not refusal.get(key) and not error.response.get(key)
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
            deviations.append(f"{path}{key} {actual[key] if isinstance(value, str) else json.dumps(actual[key])}")
    return "; ".join(filter(None, deviations))


def is_placeholder(value):
    """Whether something else stands there in every recording."""
    text = json.dumps(value)
    return value in ("timestamp", "datetime", "copy-etag") or "too-new-log" in text


@pytest.mark.parametrize("name", sorted(REPLAYED))
def test_the_embedded_aws_answers_as_recorded_or_the_book_names_the_difference(name, aws):
    named = {answer: gives for difference in BOOK["difference"] for answer, gives in difference["answers"].items()}
    assert outcome(name, aws) == named.get(name, "")
