"""User-defined message bodies: what --payload accepts, what each message gets, and where Stampede's
own fields go."""

import json
from collections import Counter
from types import SimpleNamespace

import pytest

from loader.flood import payload_messages
from loader.payloads import MOST_BYTES, Payloads
from loader.sqs.dead_letters import DeadLetters
from loader.sqs.message import request_body
from stampede.errors import UsageError


def weighted(*weights):
    return Payloads.of_text(
        json.dumps([{"payload": {"n": at}, "weight": weight} for at, weight in enumerate(weights)])
    )


def test_a_json_value_is_sent_unchanged_and_a_list_is_one_unless_its_elements_have_weights(
    tmp_path,
):
    for text in ('{ "a" : 1.0 }\n', "[1, 2]", "null", "[]", '[{"payload": 1}]', '"é"'):
        (tmp_path / "payload.json").write_text(text)
        assert list(Payloads.of_file(tmp_path / "payload.json").bodies) == [text]
    assert list(weighted(5, 0.5).bodies) == ['{"n": 0}', '{"n": 1}']


LINK = "a link to itself"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{a: 1}", "must be JSON"),
        ("\ufeff{}", "byte order mark"),
        ("[" * 100_000, "nested too deeply"),
        ('[{"payload": 1, "weight": 3}, {"payload": 2, "wieght": 1}]', "element 2 must"),
        ('[{"payload": 1, "wieght": 3}]', "element 1 must"),
        ('[{"payload": 1, "weight": 0}]', "above 0, got 0"),
        (json.dumps([{"payload": 1, "weight": 1e308}] * 2), "too large"),
        (json.dumps("x" * MOST_BYTES), "at most 1,046,528"),
        (None, "No such file"),
        (LINK, ""),
    ],
)
def test_an_invalid_file_is_refused_in_one_line_with_its_name(tmp_path, text, words):
    path = tmp_path / "payload.json"
    if text == LINK:
        path.symlink_to(path)
    elif text:
        path.write_text(text)
    with pytest.raises(UsageError, match="^--payload .*payload.json: .*" + words) as refusal:
        Payloads.of_file(path)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("weights", "count"), [((5, 15, 30), 100), ((1, 1), 7), ((0.1, 0.2, 0.7), 33), ((9, 1), 10)]
)
def test_every_round_follows_the_weights_in_a_shuffled_order(weights, count):
    payloads, sent, orders = weighted(*weights), Counter(), set()
    for first in range(0, 3 * count, count):
        indices = range(first, first + count)
        numbers = payloads.draw(indices)
        assert numbers == payloads.draw(indices), "the order is reproducible"
        orders.add(tuple(numbers))
        sent.update(numbers)
        for number, weight in enumerate(weights):
            assert abs(sent[number] - weight / sum(weights) * (first + count)) < 1
    assert len(orders) > 1


@pytest.mark.parametrize("is_batched", [False, True])
def test_a_message_is_the_payload_and_its_attribute_holds_the_order(is_batched):
    """The attribute also names the payload, except in a batch, whose time belongs to no
    single payload."""
    payloads = weighted(1, 1)
    made = payload_messages(payloads, "r", "a", range(4), {"warm_up": 0}, 10, is_batched=is_batched)
    body = request_body("https://queue", {str(order.seq): order for order in made})
    order = {"run_id": "r", "cell": "a", "warm_up": 0}
    numbers = payloads.draw(range(4))
    for entry, seq in zip(json.loads(body)["Entries"], range(10, 14), strict=True):
        number = numbers[seq - 10]
        said = entry["MessageAttributes"]["stampede"]["StringValue"]
        assert entry["MessageBody"] == payloads.bodies[number]
        assert json.loads(said) == order | {"seq": seq} | (
            {} if is_batched else {"payload": number}
        )


@pytest.mark.parametrize(
    ("text", "most"),
    [("{}", 4993), (json.dumps("x" * 10_000), 558), (json.dumps('"' * 50), 4303)],
)
def test_batches_too_large_for_one_event_are_refused_with_the_largest_possible_size(text, most):
    payloads = Payloads(text, [text], [1.0])
    payloads.refuse_batches(most - 10)
    with pytest.raises(UsageError, match=rf"--set batch_size={most} or less"):
        payloads.refuse_batches(most + 1)


def test_a_run_keeps_its_payloads_and_sends_an_empty_object_without_any(folder):
    assert list(Payloads.of_run(folder).bodies) == ["{}"]
    payloads = weighted(2, 1)
    payloads.store(folder)
    assert Payloads.of_run(folder) == payloads
    folder.replace("payload.json", "{")
    with pytest.raises(UsageError, match=r"payload.json is damaged"):
        Payloads.of_run(folder)


def test_a_dead_letter_belongs_to_the_message_in_its_attribute_and_others_are_ignored():
    order = {"run_id": "r", "cell": "a", "seq": 7}
    said = [json.dumps(order), json.dumps(order | {"cell": {}}), "[1]", "{", '{"run_id": "r"}']
    letters = [
        {
            "MessageId": str(number),
            "ReceiptHandle": "h",
            "Body": "{}",
            "MessageAttributes": {"stampede": {"StringValue": text}},
        }
        for number, text in enumerate(said)
    ]

    def receive_message(MessageAttributeNames, **_):
        return {"Messages": letters if MessageAttributeNames == ["stampede"] else []}

    sqs = SimpleNamespace(receive_message=receive_message)
    assert [*DeadLetters(sqs, "url").look(1)] == [[order | {"message_id": "0", "body": "{}"}]]
