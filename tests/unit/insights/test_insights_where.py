"""with_filters narrows a query, on the service as well as here."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stampede.insights import QueryError, evaluate, with_filters
from tests.unit.insights.download_log import event

FILTERED = [
    ("stats count(*)", {"k": "1024", "l": 5}, "filter k = 1024\n| filter l = 5\n| stats count(*)"),
    ("fields a", {"k": "007"}, 'filter k = "007"\n| fields a'),
    ("fields a", {"k": "1e5"}, 'filter k = "1e5"\n| fields a'),
    ("fields a", {"k": "1.50"}, 'filter k = "1.50"\n| fields a'),
    ("fields a", {"k": 'a"b\\'}, 'filter k = "a\\"b\\\\"\n| fields a'),
    (
        "# 1\u20282\x853\r\n\n  #\nfields a",
        {"k": -1.5},
        "# 1\u20282\x853\r\n\n  #\nfilter k = -1.5\n| fields a",
    ),
]


@pytest.mark.parametrize(("text", "filters", "narrowed"), FILTERED)
def test_filters_follow_the_leading_comments_and_only_plain_numbers_are_unquoted(
    text, filters, narrowed
):
    assert with_filters(text, filters) == narrowed


@pytest.mark.parametrize(
    ("name", "value"), [("a`b", "x"), ("", "x"), ("a\nb", "x"), ("a", "x\ny"), ("a", True)]
)
def test_a_value_that_cannot_be_written_is_refused(name, value):
    with pytest.raises(QueryError):
        with_filters("fields a", {name: value})


PRINTABLE = st.text(
    st.characters(exclude_categories=("C", "Z"), exclude_characters="`"), min_size=1, max_size=12
)


@given(PRINTABLE.filter(lambda name: "." not in name and name[0] not in "@tfnTFN"), PRINTABLE)
def test_a_filter_finds_the_value_whatever_its_characters(name, value):
    events = [event({name: value}), event({name: value + "!"}), event("plain")]
    assert evaluate(with_filters("stats count(*) as n", {name: value}), events).rows == [{"n": 1}]
