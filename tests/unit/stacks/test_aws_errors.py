"""What AWS answers, or doesn't, and whether the same call may be answered later."""

import pytest
from botocore.exceptions import (
    CredentialRetrievalError,
    EndpointConnectionError,
    NoCredentialsError,
    ParamValidationError,
)

from stampede.stacks.aws_errors import Kind, kind_of, kind_of_answer

URL = {"endpoint_url": "http://127.0.0.1"}


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (503, "ThrottlingException", Kind.FAULT),  # what it did, nobody knows
        (408, "", Kind.FAULT),
        (429, "", Kind.THROTTLED),
        (403, "RequestThrottled", Kind.THROTTLED),
        (403, "AccessDenied", Kind.DENIED),
        (403, "SignatureDoesNotMatch", Kind.INVALID),
        (400, "ExpiredTokenException", Kind.CREDENTIALS),
        (400, "ResourceNotFoundException", Kind.MISSING),
        (400, "InvalidParameterValue", Kind.REFUSED),
    ],
)
def test_an_answer_is_known_by_its_status_and_code(status, code, kind):
    assert kind_of_answer(status, code) is kind


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (EndpointConnectionError(**URL), Kind.FAULT),
        (CredentialRetrievalError(provider="sso", error_msg="no answer"), Kind.FAULT),
        (NoCredentialsError(), Kind.CREDENTIALS),
        (ParamValidationError(report="no Bucket"), Kind.INVALID),
    ],
)
def test_a_call_that_got_no_answer_is_known_by_botocores_error(error, kind):
    assert kind_of(error) is kind
