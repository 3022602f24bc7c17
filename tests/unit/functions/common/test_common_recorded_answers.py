"""What S3 was recorded to answer to a GET is what the functions take it for, and what their fake S3
answers."""

import pytest
from botocore.exceptions import ClientError

from common.boto_failures import translate
from common.describing import describe
from common.failures import AnswerError
from tests.aws_answers import ANSWERS, answering, recorded, wire
from tests.fakes.loopback import Request
from tests.fakes.s3 import BUCKET, KEY, FakeS3

REFUSED = ("s3-116", "s3-119", "s3-123", "s3-120", "s3-100")
# Of those, the requests that the fake answers.
REQUEST_HEADERS = {"s3-116": {"Range": "bytes=1024-4096"}, "s3-119": {"If-Match": '"other"'}}


@pytest.mark.parametrize("name", REFUSED)
def test_the_crt_client_and_boto3_find_the_same_refusal_in_it(name):
    status, code, message = recorded(name)
    _, _, body = wire(name)
    ours = AnswerError.from_body("GetObject", status, body)
    with pytest.raises(ClientError) as raised:
        answering("s3", name).get_object(Bucket="b", Key="k")
    theirs = translate(raised.value)
    assert (ours.status, ours.code or str(status)) == (theirs.status, theirs.code) == (status, code)
    assert ours.detail == ("" if status == 304 else message)
    assert describe(ours)[0] == describe(theirs)[0] == ("NoSuchKey" if status == 404 else "S3Error")


@pytest.mark.parametrize("name", REQUEST_HEADERS)
def test_the_faulty_s3_answers_as_recorded(name):
    status, code, _ = recorded(name)
    request = Request("GET", f"/{BUCKET}/{KEY}", headers=REQUEST_HEADERS[name])
    answered, _, body = FakeS3(8).answer(request)
    assert (answered, f"<Code>{code}</Code>" in body.decode()) == (status, True)
    size = ANSWERS[name]["answer"].get("ActualObjectSize")
    assert size is None or f"<ActualObjectSize>{size}</ActualObjectSize>" in body.decode()
