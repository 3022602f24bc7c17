"""An event that isn't one of SQS is refused."""

import pytest

from common.sqs_event import EventError, read_messages

VALID = {
    "messageId": "m",
    "body": "{}",
    "eventSource": "aws:sqs",
    "attributes": {"ApproximateReceiveCount": "2"},
}


@pytest.mark.parametrize(
    "event",
    [
        *(None, [], {"key1": "value1"}),
        *({"Records": records} for records in ([], "x", [None])),
        *({"Records": [VALID | {key: None}]} for key in VALID),
        {"Records": [VALID | {"attributes": {"ApproximateReceiveCount": "many"}}]},
    ],
)
def test_an_event_that_is_not_one_of_sqs_is_refused_in_one_line(event):
    with pytest.raises(EventError) as caught:
        read_messages(event)
    assert str(caught.value).startswith("this function takes SQS events: ")
    assert str(caught.value).isprintable()
