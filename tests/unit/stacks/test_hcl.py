"""Values in HCL and JSON: read as Terraform reads them, written so that it reads them again, or refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stampede.stacks import hcl
from stampede.stacks.hcl import HclError


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("{minimum=2,maximum=20},{minimum=2,maximum=50}", ["{minimum=2,maximum=20}", "{minimum=2,maximum=50}"]),
        ('"a, b","c\\",{", null', ['"a, b"', '"c\\",{"', "null"]),
        ("{a={b=1,c=2},d=3},[[1,2],[3]],c'd", ["{a={b=1,c=2},d=3}", "[[1,2],[3]]", "c'd"]),
    ],
)
def test_commas_within_brackets_and_quotes_part_nothing(text, values):
    assert hcl.split(text) == values


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{\n  minimum = 2 # the least\n  maximum = 50\n}", {"minimum": 2, "maximum": 50}),
        ('[1, -2.5, 1e3, true, null, "a, \\"b\\"\\n\\u00e9"]', [1, -2.5, 1000.0, True, None, 'a, "b"\né']),
        ('"$${kept} and %%{kept}"', "${kept} and %{kept}"),
        ("<<EOT\ntwo\nlines\nEOT", "two\nlines"),
    ],
)
def test_a_value_is_read_as_terraform_reads_it(text, value):
    assert hcl.value(text) == value


@pytest.mark.parametrize(
    "text",
    ["var.x", "1 + 1", '"${var.x}"', "{a=b}", "{(a)=1}", "max(1, 2)", "{a=1", "= 3", "[1,,2]", "[" * 100_000],
)
def test_what_is_no_value_or_has_to_be_worked_out_is_refused(text):
    with pytest.raises(HclError):
        hcl.value(text)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text('ab ,"\\{}[]=:é\n#/'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('ab_ 1-{"', min_size=1), inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(PLAIN, max_size=3) | st.dictionaries(st.sampled_from(["minimum", "two words"]), PLAIN, max_size=3))
def test_what_is_written_is_one_value_and_reads_as_it_was(value):
    text = hcl.text_of(value)
    assert (hcl.split(text), hcl.value(text)) == ([text], value)
