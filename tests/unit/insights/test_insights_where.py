"""with_filters narrows a query, on the service as well as here."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stampede.insights import QueryError, evaluate, with_filters
from tests.unit.insights.download_log import event


def test_filters_stand_in_front_after_the_leading_comments():
    text = "# what it answers\n\n  # more\nstats count(*) as n"
    assert with_filters(text, {"run_id": "a", "memory_size": 1024}) == (
        '# what it answers\n\n  # more\nfilter run_id = "a"\n| filter memory_size = 1024\n| stats count(*) as n'
    )


def test_a_leading_comment_ends_with_its_line_and_not_at_another_separator():
    text = "# one\u2028two\x85three\r\nfields a"
    assert with_filters(text, {"b": 1}) == "# one\u2028two\x85three\r\nfilter b = 1\n| fields a"


def test_without_filters_the_text_stays_as_it_is():
    assert with_filters("# only\nfields a", {}) == "# only\nfields a"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("1024", "1024"),
        ("007", '"007"'),
        ("1e5", '"1e5"'),
        ("-1.5", "-1.5"),
        ("1.50", '"1.50"'),
        ('a"b\\', r'"a\"b\\"'),
    ],
)
def test_only_plain_numbers_go_without_quotes(value, written):
    assert with_filters("fields a", {"k": value}) == f"filter k = {written}\n| fields a"


@pytest.mark.parametrize(("name", "value"), [("a`b", "x"), ("", "x"), ("a\nb", "x"), ("a", "x\ny"), ("a", True)])
def test_what_cannot_be_written_is_refused(name, value):
    with pytest.raises(QueryError):
        with_filters("fields a", {name: value})


PRINTABLE = st.text(st.characters(exclude_categories=("C", "Z"), exclude_characters="`"), min_size=1, max_size=12)


@given(PRINTABLE.filter(lambda name: not name.startswith("@")), PRINTABLE)
def test_a_filter_finds_the_value_whatever_its_characters(name, value):
    events = [event({name: value}), event({name: value + "!"}), event("plain")]
    if "." in name or name.lower() in ("true", "false", "null"):
        return
    assert evaluate(with_filters("stats count(*) as n", {name: value}), events).rows == [{"n": 1}]
