"""The user's own message bodies: what --payload takes, what each message gets, and where what
Stampede says goes."""

import json
from collections import Counter
from types import SimpleNamespace

import pytest

from loader.flood import payload_messages
from loader.payloads import MOST_BYTES, Payloads
from loader.sqs.dead_letters import DeadLetters
from loader.sqs.message import Order, request_body
from stampede.errors import UsageError


def weighted(*weights):
    return Payloads.of_text(
        json.dumps([{"payload": {"n": at}, "weight": weight} for at, weight in enumerate(weights)])
    )


def test_one_json_value_is_sent_byte_for_byte_and_a_list_is_one_unless_its_elements_have_weights(
    tmp_path,
):
    for text in ('{ "a" : 1.0 }\n', "[1, 2]", "null", "[]", '[{"payload": 1}]', '"é"'):
        (tmp_path / "payload.json").write_text(text)
        assert list(Payloads.of_file(tmp_path / "payload.json").bodies) == [text]
    assert list(weighted(5, 0.5).bodies) == ['{"n": 0}', '{"n": 1}']


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{a: 1}", "must be JSON"),
        ('{"a": NaN}', "NaN"),
        ("\ufeff{}", "byte order mark"),
        ("-" + "1" * 5000, "4300 digits"),
        ("[" * 100_000, "nested too deeply"),
        ('[{"payload": 1, "weight": 3}, {"payload": 2, "wieght": 1}]', "element 2 doesn't"),
        ('[{"payload": 1, "weight": 0}]', "above 0, got 0"),
        ('[{"payload": 1, "weight": true}]', "got True"),
        (json.dumps("x" * MOST_BYTES), "at most 1,046,528"),
        (None, "No such file"),
    ],
)
def test_another_file_is_refused_in_one_line_with_its_name(tmp_path, text, words):
    path = tmp_path / "payload.json"
    if text:
        path.write_text(text)
    with pytest.raises(UsageError, match="^--payload .*payload.json: .*" + words) as refusal:
        Payloads.of_file(path)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("weights", "count"), [((5, 15, 30), 100), ((1, 1), 7), ((0.1, 0.2, 0.7), 33), ((9, 1), 10)]
)
def test_the_weights_are_kept_in_every_round_and_the_order_is_shuffled(weights, count):
    payloads, sent, orders = weighted(*weights), Counter(), set()
    for first in range(0, 3 * count, count):
        numbers = payloads.draw(first, count)
        assert numbers == payloads.draw(first, count), "always in the same way"
        orders.add(tuple(numbers))
        sent.update(numbers)
        for number, weight in enumerate(weights):
            assert abs(sent[number] - weight / sum(weights) * (first + count)) < 1
    assert len(orders) > 1


def test_a_message_is_the_payload_and_its_attribute_says_what_a_body_says_elsewhere():
    payloads = weighted(1, 1)
    messages = list(payload_messages(payloads, "r", "a", 4, {"warm_up": 0}, 10))
    attributes = [json.loads(message.attribute) for message in messages]
    assert [row.pop("seq") for row in attributes] == [10, 11, 12, 13]
    assert [message.body for message in messages] == [
        payloads.bodies[row.pop("payload")] for row in attributes
    ]
    assert attributes == [{"run_id": "r", "cell": "a", "warm_up": 0}] * 4
    [entry] = json.loads(request_body("https://queue", {"1-0": Order(1, "body", "said")}))[
        "Entries"
    ]
    assert entry["MessageAttributes"] == {"stampede": {"DataType": "String", "StringValue": "said"}}
    assert entry["MessageBody"] == "body"


def test_in_a_batch_of_several_payloads_no_message_names_its_own():
    messages = list(payload_messages(weighted(1, 1), "r", "a", 4, {"warm_up": 0}, is_batched=True))
    assert {message.body for message in messages} == {'{"n": 0}', '{"n": 1}'}
    assert all("payload" not in json.loads(message.attribute) for message in messages)


@pytest.mark.parametrize(
    ("text", "most"),
    [("{}", 4_990), (json.dumps("x" * 10_000), 558), (json.dumps('"' * 50), 4_180)],
)
def test_batches_of_which_no_event_holds_all_messages_are_refused_with_the_largest_that_it_holds(
    text, most
):
    payloads = Payloads(text, [text], [1.0])
    with pytest.raises(
        UsageError, match=r"and Lambda hands out 6 at most; use --set batch_size=(\d+)"
    ) as refusal:
        payloads.refuse_batches(10_000)
    named = int(str(refusal.value).partition("--set batch_size=")[2].split()[0])
    payloads.refuse_batches(named)
    assert named == pytest.approx(most, rel=0.03)


def test_a_run_keeps_its_payloads_and_without_any_sends_an_empty_object(folder):
    assert list(Payloads.of_run(folder).bodies) == ["{}"]
    payloads = weighted(2, 1)
    payloads.store(folder)
    assert Payloads.of_run(folder) == payloads
    folder.replace("payload.json", "{")
    with pytest.raises(UsageError, match=r"payload.json is damaged"):
        Payloads.of_run(folder)


def test_a_dead_letter_belongs_to_the_message_that_its_attribute_names_and_another_is_none():
    order = {"run_id": "r", "cell": "a", "seq": 7}
    attributes = [
        json.dumps(order),
        json.dumps(order | {"cell": {}}),
        "[1]",
        "{",
        '{"run_id": "r"}',
    ]
    letters = [
        {
            "MessageId": name,
            "ReceiptHandle": "h",
            "Body": "{}",
            "MessageAttributes": {"stampede": {"StringValue": said}},
        }
        for name, said in zip("mnopq", attributes, strict=True)
    ]
    requests = []
    sqs = SimpleNamespace(
        receive_message=lambda **options: requests.append(options) or {"Messages": letters}
    )
    assert [*DeadLetters(sqs, "url").look(1)] == [[order | {"message_id": "m", "body": "{}"}]]
    assert requests[0]["MessageAttributeNames"] == ["stampede"]
