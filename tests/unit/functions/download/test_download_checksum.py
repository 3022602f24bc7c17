"""Checksums: as a work order asks for them, over bytes in order, and over ranges in any order."""

import hashlib
import itertools
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.failures import ChecksumMismatch
from common.slots import WINDOW_BYTES
from common.work_order import WorkOrderError
from download.checksum import Checksum, Digest, joined_crc32, parse_checksum
from download.download_order import parse_download_order
from download.sinks import DiscardSink
from tests.unit.functions.lambda_sandbox import order


@pytest.mark.parametrize("text", [f"sha256:{'0a' * 32}", "crc32:0123cdef"])
def test_a_checksum_is_read_from_the_order(text):
    algorithm, _, value = text.partition(":")
    assert parse_checksum(text) == Checksum(algorithm, value)
    assert parse_download_order(order(checksum=text)).checksum == Checksum(algorithm, value)


def test_an_order_without_a_checksum_asks_for_none():
    assert parse_download_order(order()).checksum is None


@pytest.mark.parametrize(
    "value",
    [
        "",
        "sha256:",
        "sha256",
        "crc32:123",
        "crc32:0123CDEF",
        "crc32:0123cdeg",
        f"sha256:{'a' * 63}",
        f"md5:{'a' * 32}",
        f"crc32c:{'a' * 8}",
        "crc32:0123cdef ",
        "crc32:0123cde\n",
        None,
        7,
        True,
        ["crc32:0123cdef"],
    ],
)
def test_anything_else_is_refused_in_one_line(value):
    with pytest.raises(WorkOrderError) as caught:
        parse_download_order(order(checksum=value))
    assert str(caught.value).startswith("checksum must be sha256: and 64, or crc32: and 8 hexadecimal digits")
    assert str(caught.value).isprintable()


def test_a_difference_names_both_values():
    with pytest.raises(ChecksumMismatch, match="have the crc32 00000001, but the message expects 00000002"):
        Checksum("crc32", "00000002").compare("00000001")


@given(st.lists(st.binary(max_size=300), max_size=6))
def test_the_crc32_of_parts_is_that_of_the_whole(parts):
    whole = b"".join(parts)
    assert joined_crc32((zlib.crc32(part), len(part)) for part in parts) == f"{zlib.crc32(whole):08x}"


def test_the_crc32_of_large_parts_is_that_of_the_whole():
    parts = [bytes([value]) * (2**20 + value) for value in range(1, 40)]
    assert joined_crc32((zlib.crc32(part), len(part)) for part in parts) == f"{zlib.crc32(b''.join(parts)):08x}"


@given(st.binary(max_size=1000), st.integers(0, 1000))
def test_a_digest_over_pieces_is_that_of_the_whole(content, cut):
    for algorithm, expected in (
        ("sha256", hashlib.sha256(content).hexdigest()),
        ("crc32", f"{zlib.crc32(content):08x}"),
    ):
        digest = Digest(algorithm)
        digest.update(memoryview(content)[:cut])
        digest.update(memoryview(content)[cut:])
        assert digest.hexadecimal() == expected


@given(st.binary(min_size=1, max_size=2000), st.lists(st.integers(0, 2000), max_size=8), st.randoms())
def test_discarded_ranges_give_the_crc32_in_whatever_order_they_came(content, cuts, random):
    """Two slots fetch the pieces between the cuts in turn, and each piece in two windows."""
    edges = sorted({0, len(content), *(cut for cut in cuts if cut < len(content))})
    pieces = list(itertools.pairwise(edges))
    random.shuffle(pieces)
    sink = DiscardSink("crc32")
    sink.prepare(len(content))
    slots = [sink.slot(), sink.slot()]
    for number, (first, end) in enumerate(pieces):
        slot, position = slots[number % 2], first
        while position < end:
            count = min(end - position, max(1, (end - first) // 2))
            slot.window(position, end - position)[:count] = content[position : position + count]
            slot.keep(position, count)
            position += count
    assert sink.digest("crc32") == f"{zlib.crc32(content):08x}"


def test_a_discarding_slot_never_holds_more_than_its_window():
    slot = DiscardSink(None).slot()
    assert len(slot.window(0, 2**30)) == WINDOW_BYTES
    assert len(slot.window(0, 3)) == 3
