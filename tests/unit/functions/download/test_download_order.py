"""The work order and its checksum: whatever is refused is refused with one clear line."""

import hashlib
import itertools
import json
import zlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from common.work_order import LARGEST_INTEGER, WorkOrderError
from download.checksum import Checksum, Digest, joined_crc32
from download.download_order import DownloadOrder, parse_download_order
from download.sinks import DiscardSink
from tests.unit.functions.lambda_sandbox import order

WRONG_NUMBERS = (True, -1, 1.0, "1", None, LARGEST_INTEGER + 1, float("nan"))
WRONG_NAMES = ("", "x" * 257, "two\nlines", "\ud800", "line\u2028break", 5, None, ["r"])
WRONG_CHECKSUMS = (
    *(
        "",
        "sha256",
        "crc32:123",
        "crc32:0123CDEF",
        f"sha256:{'a' * 63}",
        f"md5:{'a' * 32}",
        "crc32:0123cde\n",
    ),
    *(None, ["crc32:0123cdef"]),
)
WRONG = {
    **dict.fromkeys(("seq", "start_at_ms", "round", "object_bytes"), WRONG_NUMBERS),
    **dict.fromkeys(("run_id", "cell", "object_etag"), WRONG_NAMES),
    "checksum": WRONG_CHECKSUMS,
    "warm_up": (2, True, "1"),
    "methodd": ("ranges",),
}


def test_an_order_is_read_as_written_and_what_it_leaves_out_has_its_default():
    text = f"sha256:{'0a' * 32}"
    body = order(
        seq=41,
        start_at_ms=1_735_689_600_000,
        round=3,
        object_bytes=2**30,
        object_etag='"e"',
        warm_up=1,
        checksum=text,
    )
    names, checksum = (
        ("run-1", "memory_size=1024,concurrency_value=5"),
        Checksum("sha256", "0a" * 32),
    )
    assert parse_download_order(body) == DownloadOrder(
        *names, 41, 1_735_689_600_000, 3, 2**30, '"e"', 1, checksum
    )
    assert parse_download_order(order()) == DownloadOrder(*names, 7)


@pytest.mark.parametrize(
    ("key", "value"), [(key, value) for key, values in WRONG.items() for value in values]
)
def test_a_wrong_value_or_an_unknown_key_is_refused_by_name(key, value):
    with pytest.raises(WorkOrderError, match=key):
        parse_download_order(order(**{key: value}))


@pytest.mark.parametrize("key", ["run_id", "cell", "seq"])
def test_a_missing_key_is_named(key):
    values = json.loads(order())
    del values[key]
    with pytest.raises(WorkOrderError, match=f"lacks the key {key}"):
        parse_download_order(json.dumps(values))


@pytest.mark.parametrize(
    ("body", "word"),
    [
        *((body, "JSON") for body in ("", "hello", "[" * 200_000, "9" * 5_000, "{}{}")),
        *((body, "object") for body in ("[]", "null", "NaN")),
        ('{"run_id": "r", "cell": "c", "seq": 1, "seq": 2}', "twice"),
    ],
)
def test_a_body_that_is_no_json_object_is_refused_as_such(body, word):
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
        assert (
            json.loads(body).items()
            >= {"run_id": parsed.run_id, "cell": parsed.cell, "seq": parsed.seq}.items()
        )


@given(st.lists(st.binary(max_size=300), max_size=6))
@example([bytes([value]) * (2**20 + value) for value in range(1, 40)])
def test_a_checksum_of_parts_is_that_of_the_whole(parts):
    whole = b"".join(parts)
    assert (
        joined_crc32((zlib.crc32(part), len(part)) for part in parts) == f"{zlib.crc32(whole):08x}"
    )
    for algorithm, expected in (
        ("sha256", hashlib.sha256(whole).hexdigest()),
        ("crc32", f"{zlib.crc32(whole):08x}"),
    ):
        digest = Digest(algorithm)
        for part in parts:
            digest.update(memoryview(part))
        assert digest.hexadecimal() == expected


@given(
    st.binary(min_size=1, max_size=2000), st.lists(st.integers(1, 1999), max_size=8), st.randoms()
)
def test_discarded_ranges_give_the_crc32_in_whatever_order_they_came(content, cuts, random):
    """Two slots fetch the pieces between the cuts in turn, and each piece in two windows."""
    pieces = list(
        itertools.pairwise(sorted({0, len(content), *(cut for cut in cuts if cut < len(content))}))
    )
    random.shuffle(pieces)
    sink = DiscardSink("crc32")
    slots = [sink.slot(), sink.slot()]
    for number, (first, end) in enumerate(pieces):
        for position, stop in itertools.pairwise((first, (first + end) // 2, end)):
            slots[number % 2].window(position, end - position)[: stop - position] = content[
                position:stop
            ]
            slots[number % 2].keep(position, stop - position)
    assert sink.digest("crc32") == f"{zlib.crc32(content):08x}"
