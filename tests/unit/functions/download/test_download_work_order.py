"""The work-order parser: what it takes, and that whatever it refuses is refused with one clear line."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from common.work_order import LARGEST_INTEGER, WorkOrderError
from download.download_order import DownloadOrder, parse_download_order

NAMES = {"run_id": "run-1", "cell": "memory_size=1024,concurrency_value=5"}
ORDER = {**NAMES, "seq": 0}


def refusal(body: str) -> str:
    with pytest.raises(WorkOrderError) as caught:
        parse_download_order(body)
    return str(caught.value)


def test_a_minimal_work_order_is_read():
    assert parse_download_order(json.dumps(ORDER)) == DownloadOrder("run-1", NAMES["cell"], 0)


def test_a_full_work_order_is_read():
    body = json.dumps({**ORDER, "seq": 41, "start_at_ms": 1_735_689_600_000, "round": 3, "object_bytes": 2**30})
    assert parse_download_order(body) == DownloadOrder("run-1", NAMES["cell"], 41, 1_735_689_600_000, 3, 2**30)


@pytest.mark.parametrize("key", ["run_id", "cell", "seq"])
def test_a_missing_key_is_named(key):
    assert f"lacks the key {key}:" in refusal(json.dumps({k: v for k, v in ORDER.items() if k != key}))


def test_an_unknown_key_is_refused_and_the_known_ones_are_listed():
    message = refusal(json.dumps({**ORDER, "methodd": "ranges"}))
    assert "'methodd'" in message
    assert "start_at_ms" in message


def test_a_key_given_twice_is_refused():
    assert "'seq' twice" in refusal('{"run_id": "r", "cell": "c", "seq": 1, "seq": 2}')


@pytest.mark.parametrize("key", ["seq", "start_at_ms", "object_bytes"])
@pytest.mark.parametrize("value", [True, -1, 1.0, "1", None, LARGEST_INTEGER + 1, float("nan")])
def test_a_number_that_is_not_a_whole_number_from_0_is_refused(key, value):
    assert f"{key} must be a whole number" in refusal(json.dumps({**ORDER, key: value}))


@pytest.mark.parametrize("key", ["run_id", "cell"])
@pytest.mark.parametrize("value", ["", "x" * 257, "two\nlines", "\ud800", "line\u2028break", 5, None, ["r"]])
def test_a_name_that_is_not_short_printable_text_is_refused(key, value):
    assert f"{key} must be text" in refusal(json.dumps({**ORDER, key: value}))


@pytest.mark.parametrize("body", ["", "hello", "{", '{"run_id": }', "\x00", "[" * 200_000, "9" * 5_000, "{}{}"])
def test_a_body_that_is_not_json_is_refused_as_such(body):
    assert refusal(body).startswith(("the message body isn't JSON", "the message body can't be read as JSON"))


@pytest.mark.parametrize("body", ["[]", "null", "5", '"order"', "NaN", "true"])
def test_json_that_is_not_an_object_is_refused_as_such(body):
    assert refusal(body).startswith("the message body must be a JSON object")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(), children, max_size=3),
    max_leaves=8,
)
known_keys = st.sampled_from(["run_id", "cell", "seq", "start_at_ms", "round", "object_bytes"])
nearly_orders = st.dictionaries(known_keys | st.text(max_size=5), json_values, max_size=6).map(
    lambda changes: json.dumps({**ORDER, **changes})
)


@given(st.text() | json_values.map(json.dumps) | nearly_orders)
@example('{"run_id": "\\ud800", "cell": "c", "seq": 0}')
def test_any_body_is_either_read_or_refused_in_one_printable_line(body):
    try:
        order = parse_download_order(body)
    except WorkOrderError as error:
        assert str(error).isprintable()
        assert 0 < len(str(error)) <= 300
    else:
        assert order.seq >= 0
        assert order.run_id.isprintable()
        assert json.loads(body)["cell"] == order.cell


@given(
    st.fixed_dictionaries(
        {
            "run_id": st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=40),
            "cell": st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=40),
            "seq": st.integers(0, LARGEST_INTEGER),
        },
        optional={
            "start_at_ms": st.integers(0, LARGEST_INTEGER),
            "round": st.integers(0, LARGEST_INTEGER),
            "object_bytes": st.integers(0, LARGEST_INTEGER),
        },
    )
)
def test_every_valid_order_is_read_as_written(values):
    order = parse_download_order(json.dumps(values))
    assert {key: getattr(order, key) for key in values} == values
