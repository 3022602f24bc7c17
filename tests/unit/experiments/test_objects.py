"""The test object is the same everywhere and can't be compressed."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from experiments.objects import PART_BYTES, part, part_count


@given(st.integers(1, 10**12))
def test_parts_cover_the_object_exactly(size_bytes):
    count = part_count(size_bytes)
    assert (count - 1) * PART_BYTES < size_bytes <= count * PART_BYTES


def test_the_seed_fixes_the_content_for_all_time():
    # SHAKE-128 of "stampede/1/0", computed from the definition, not with the function.
    assert part(1, 0, 64) == hashlib.shake_128(b"stampede/1/0").digest(64)
    assert part(1, 0, 64) != part(2, 0, 64)
