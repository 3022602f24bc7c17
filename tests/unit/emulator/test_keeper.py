"""A correction of MiniStack by the keeper; recorded answers test the others."""

import pytest
from ministack.services import lambda_svc

from stampede.emulator import keeper


@pytest.mark.parametrize(
    ("failures", "fails"), [(None, False), ([{"itemIdentifier": "other"}], True), ("m", True)]
)
def test_an_answer_that_names_no_message_fails_its_batch_and_null_is_a_success(
    monkeypatch, failures, fails
):
    answer = {"body": {"batchItemFailures": failures}}
    monkeypatch.setattr(lambda_svc, "_execute_function", lambda func, event: answer)
    keeper.fail_a_batch_whose_answer_names_no_message()
    batch = {"Records": [{"messageId": "m", "eventSource": "aws:sqs"}]}
    result = lambda_svc._execute_function({}, batch)
    assert result.get("error", False) is fails
    assert fails or result["body"] == {"batchItemFailures": []}  # MiniStack reads a list
    assert lambda_svc._execute_function({}, {"what": 1}) == answer
