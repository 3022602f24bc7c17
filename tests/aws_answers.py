"""Recorded answers of AWS (tests/data/aws_answers/services.json), and clients that get them."""

import io
import json
import re
from pathlib import Path
from xml.sax.saxutils import escape

import boto3
from botocore.awsrequest import AWSResponse
from botocore.config import Config

ANSWERS = {
    row["id"]: row
    for row in json.loads(
        (Path(__file__).parent / "data/aws_answers/services.json").read_text(encoding="utf-8")
    )
}
KEYS = {"region_name": "us-east-1", "aws_access_key_id": "test", "aws_secret_access_key": "test"}
# Members of an S3 answer that are headers.
HEADS = {
    "ETag": "ETag",
    "ContentLength": "content-length",
    "ContentType": "Content-Type",
    "AcceptRanges": "accept-ranges",
    "ServerSideEncryption": "x-amz-server-side-encryption",
    "ChecksumCRC32": "x-amz-checksum-crc32",
    "ChecksumType": "x-amz-checksum-type",
    "VersionId": "x-amz-version-id",
}


class Raw(io.BytesIO):
    """A body as botocore reads it."""

    def stream(self, **_):
        yield self.getvalue()


def recorded(name):
    """Status, code and message of a recorded refusal."""
    answer = ANSWERS[name]["answer"]
    return answer["status"], answer["code"], answer["message"]


def answering(service, name):
    """A boto3 client without retries whose calls get the recorded answer."""
    client = boto3.client(service, config=Config(retries={"total_max_attempts": 1}), **KEYS)
    status, headers, body = wire(name)
    client.meta.events.register(
        "before-send", lambda request, **_: AWSResponse(request.url, status, headers, Raw(body))
    )
    return client


def wire(name):
    """Status, headers and body of a recorded answer, in its service's protocol."""
    row = ANSWERS[name]
    answer, service = row["answer"], row["service"]
    status = answer.get("status", 200)
    if service == "s3":
        return status, *_of_s3(row["operation"], answer)
    if "code" not in answer:
        return status, {}, json.dumps(answer["fields"]).encode()
    more = {
        key: value
        for key, value in answer.items()
        if key not in ("status", "code", "message", "QueryErrorCode")
    }
    body = {"message": answer["message"], **more}
    if service == "lambda":
        return status, {"x-amzn-errortype": answer["code"]}, json.dumps(body).encode()
    # SQS has the JSON protocol's name in the body and the older protocol's in a header.
    modern = answer.get("QueryErrorCode", answer["code"])
    headers = {"x-amzn-query-error": f"{answer['code']};Sender"} if service == "sqs" else {}
    text = json.dumps({"__type": f"com.amazonaws.{service}#{modern}", **body})
    return status, headers, text.encode()


def _of_s3(operation, answer):
    if answer.get("code") == "304":
        return {}, b""
    if "code" in answer:
        members = {"Code": answer["code"], "Message": answer["message"]}
        members |= {
            key: value for key, value in answer.items() if key not in ("status", "code", "message")
        }
        return {"content-type": "application/xml"}, _xml("Error", members)
    fields = answer["fields"]
    headers = {head: str(fields[key]) for key, head in HEADS.items() if key in fields}
    headers |= {f"x-amz-meta-{key}": value for key, value in fields.get("Metadata", {}).items()}
    [(root, members)] = [(key, fields[key]) for key in ("CopyObjectResult",) if key in fields] or [
        ("", None)
    ]
    if operation == "DeleteObjects":
        root, members = "DeleteResult", fields
    return headers, _xml(root, members) if root else b""


def _xml(name, value):
    """An XML element with its members, or one element for each item of a list."""
    if isinstance(value, list):
        return b"".join(_xml(name, item) for item in value)
    inside = (
        b"".join(_xml(*member) for member in value.items())
        if isinstance(value, dict)
        else escape(str(value)).encode()
    )
    inside = b"2026-02-21T00:00:00.000Z" if inside == b"datetime" else inside
    return b"<%s>%s</%s>" % (name.encode(), inside, name.encode())


def same_but_names(recorded_text, text):
    """Whether a text matches the recorded one, with any text for <its placeholders>."""
    pattern = re.sub(r"<[\w:-]+>|111111111111", "\0", recorded_text)
    pattern = re.escape(pattern).replace("\0", ".+").replace("\\.+", ".+")
    return re.fullmatch(pattern, text) is not None
