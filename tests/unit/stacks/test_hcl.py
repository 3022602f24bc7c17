"""Values in HCL and JSON: read as Terraform reads them, written so that it reads them again, or refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stampede.stacks import hcl
from stampede.stacks.hcl import HclError


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1,2", ["1", "2"]),
        ("{minimum=2,maximum=20},{minimum=2,maximum=50}", ["{minimum=2,maximum=20}", "{minimum=2,maximum=50}"]),
        ('{"a": [1,2]}, null', ['{"a": [1,2]}', "null"]),
        ('"a, b","c\\",{"', ['"a, b"', '"c\\",{"']),
        ("{a={b=1,c=2},d=3},[[1,2],[3]]", ["{a={b=1,c=2},d=3}", "[[1,2],[3]]"]),
        ("a(b),c'd", ["a(b)", "c'd"]),
    ],
)
def test_commas_within_brackets_and_quotes_part_nothing(text, values):
    assert hcl.split(text) == values


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{a=1", "a } is missing"),
        ("1,[2,{a=3}", "a ] is missing"),
        ("1}", "a } closes nothing"),
        ("{[}]", "a } closes nothing"),
        ('a,"b', "a quote isn't closed"),
    ],
)
def test_what_is_opened_and_not_closed_is_refused_with_its_place(text, words):
    with pytest.raises(HclError) as refusal:
        hcl.split(text)
    assert str(refusal.value) == words


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{minimum=2,maximum=50}", {"minimum": 2, "maximum": 50}),
        ('{"minimum": 2, "maximum": 50}', {"minimum": 2, "maximum": 50}),
        ("{\n  minimum = 2 # the least\n  maximum = 50\n}", {"minimum": 2, "maximum": 50}),
        ('[1, -2.5, 1e3, true, null, "a, \\"b\\"\\n\\u00e9"]', [1, -2.5, 1000.0, True, None, 'a, "b"\né']),
        ('"$${kept} and %%{kept}"', "${kept} and %{kept}"),
        ("<<EOT\ntwo\nlines\nEOT", "two\nlines"),
    ],
)
def test_a_value_is_read_as_terraform_reads_it(text, value):
    assert hcl.value(text) == value


@pytest.mark.parametrize("text", ["var.x", "1 + 1", '"${var.x}"', "{a=b}", "{(a)=1}", "max(1, 2)", "[for x in [1]: x]"])
def test_what_terraform_would_have_to_work_out_is_refused(text):
    with pytest.raises(HclError, match="is an expression"):
        hcl.value(text)


@pytest.mark.parametrize("text", ["{a=1", "{a 1}", "= 3", "[1,,2]", '"a" "b"'])
def test_what_is_no_value_is_refused(text):
    with pytest.raises(HclError, match="isn't valid HCL"):
        hcl.value(text)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text('ab ,"\\{}[]=:é\n#/'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('ab_ 1-{"', min_size=1), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.lists(PLAIN, max_size=3) | st.dictionaries(st.sampled_from(["minimum", "a-b", "two words"]), PLAIN, max_size=3)
)
def test_what_is_written_is_one_value_and_reads_as_it_was(value):
    text = hcl.text_of(value)
    assert hcl.split(text) == [text]
    assert hcl.value(text) == value
