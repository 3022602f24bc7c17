"""The work order: whatever is refused is refused with one clear line."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from common.work_order import LARGEST_INTEGER, WorkOrderError
from download.download_order import parse_download_order
from tests.unit.functions.lambda_sandbox import order

WRONG_NUMBERS = (True, -1, 1.0, "1", None, LARGEST_INTEGER + 1, float("nan"))
WRONG_NAMES = ("", "x" * 257, "two\nlines", "\ud800", "line\u2028break", 5, None)
WRONG = {
    **dict.fromkeys(("seq", "object_bytes"), WRONG_NUMBERS),
    **dict.fromkeys(("start_at_ms", "round"), (True,)),
    "run_id": WRONG_NAMES,
    **dict.fromkeys(("cell", "object_etag"), ("",)),
    "checksum": ("sha256", f"sha256:{'a' * 63}", f"sha256:{'A' * 64}", f"md5:{'a' * 32}", None),
    "warm_up": (2, True, "1"),
    "methodd": ("ranges",),
}


@pytest.mark.parametrize(
    ("key", "value"), [(key, value) for key, values in WRONG.items() for value in values]
)
def test_a_wrong_value_or_an_unknown_key_is_refused_by_name(key, value):
    with pytest.raises(WorkOrderError, match=key):
        parse_download_order(order(**{key: value}))


@pytest.mark.parametrize(
    ("body", "word"),
    [
        *((body, "JSON") for body in ("hello", "[" * 200_000, "9" * 5_000)),
        ("[]", "object"),
        ('{"run_id": "r", "cell": "c", "seq": 1, "seq": 2}', "twice"),
        ('{"run_id": "r", "cell": "c"}', "lacks the key seq"),
    ],
)
def test_a_body_that_is_no_json_object_or_lacks_a_key_is_refused_as_such(body, word):
    with pytest.raises(WorkOrderError, match=word):
        parse_download_order(body)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda children: (
        st.lists(children, max_size=3) | st.dictionaries(st.text(), children, max_size=3)
    ),
    max_leaves=8,
)
nearly_orders = st.dictionaries(
    st.sampled_from(list(WRONG)) | st.text(max_size=5), json_values, max_size=6
)


@given(
    st.text() | json_values.map(json.dumps) | nearly_orders.map(lambda changes: order(**changes))
)
@example('{"run_id": "\\ud800", "cell": "c", "seq": 0}')
def test_any_body_is_either_read_or_refused_in_one_printable_line(body):
    try:
        parsed = parse_download_order(body)
    except WorkOrderError as error:
        assert str(error).isprintable()
        assert 0 < len(str(error)) <= 300
    else:
        read = {"run_id": parsed.run_id, "cell": parsed.cell, "seq": parsed.seq}
        assert json.loads(body).items() >= read.items()
