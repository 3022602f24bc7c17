"""Variables from every file, from the environment and from *.tfvars, as HCL and JSON; unreadable
ones are named."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stampede.errors import UsageError
from stampede.stacks import hcl
from stampede.stacks.hcl import HclError
from stampede.stacks.infra_variables import infra_defaults
from stampede.variable_rules import Rule

VARIABLES = {
    "size": Rule(type="number", default=1),
    "pollers": Rule(type="object", default={"minimum": 2, "maximum": 20}),
    "zones": Rule(type="list", default=["a", "b"]),
    "tag": Rule(),
}


@pytest.fixture
def infra(tmp_path):
    """A Terraform folder."""
    infra = tmp_path / "infra"
    infra.mkdir()
    return infra


def values_in(folder, **environ):
    """The values of VARIABLES there."""
    return infra_defaults(
        {f"TF_VAR_{name}": text for name, text in environ.items()}, folder, VARIABLES
    )


SOURCES = ("terraform.tfvars", "terraform.tfvars.json", "a.auto.tfvars", "b.auto.tfvars.json")


def test_the_later_of_terraforms_sources_wins(infra):
    (infra / "mine.tfvars").write_text("size = 7\n")  # Terraform doesn't read it
    defaults = {name: rule.default for name, rule in VARIABLES.items()}
    assert (values_in(infra), values_in(infra, size="5")) == (defaults, defaults | {"size": 5})
    for number, source in enumerate(SOURCES, start=10):
        (infra / source).write_text(
            json.dumps({"size": number}) if "json" in source else f"size = {number}\n"
        )
        assert values_in(infra, size="5")["size"] == number


def test_strings_are_taken_unchanged_null_is_the_default_and_unknown_names_are_ignored(infra):
    (infra / "terraform.tfvars").write_text("size = null\nstranger = 1 + 1\n")
    values = values_in(infra, size="5", pollers="{minimum=3,maximum=30}", zones='["c"]', tag="007")
    assert values == {
        "size": 1,
        "pollers": {"minimum": 3, "maximum": 30},
        "zones": ["c"],
        "tag": "007",
    }


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("terraform.tfvars", b"size = 3\nzones = [\n", "line 2: it isn't valid HCL"),
        ("terraform.tfvars", b"size = 1024 * 2\n", "${1024 * 2} is an expression"),
        ("terraform.tfvars.json", b"[" * 100_000, "nested too deeply"),
        ("terraform.tfvars.json", b"[1]", "one JSON object"),
    ],
)
def test_an_unreadable_source_is_named_in_one_line(infra, name, text, words):
    (infra / name).write_bytes(text)
    with pytest.raises(UsageError, match=f"^infra/{name}: .*{re.escape(words)}.*$"):
        values_in(infra)
    (infra / name).unlink()
    with pytest.raises(UsageError, match=r"TF_VAR_pollers: .*isn't valid HCL"):
        values_in(infra, pollers="{minimum=3")


# Values in HCL: read as Terraform reads them, written so that they read back, or refused.


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (
            '[1, -2.5, 1e3, true, null, "a, \\"b\\"\\n\\u00e9"]',
            [1, -2.5, 1000.0, True, None, 'a, "b"\né'],
        ),
        ('"$${kept} and %%{kept}"', "${kept} and %{kept}"),
        ("<<EOT\ntwo\nlines\nEOT", "two\nlines"),
    ],
)
def test_a_value_is_read_as_terraform_reads_it(text, value):
    assert hcl.value(text) == value


@pytest.mark.parametrize("text", ["var.x", '"${var.x}"', "{(a)=1}", "{a=1", "[" * 100_000])
def test_an_invalid_value_or_an_expression_is_refused(text):
    with pytest.raises(HclError):
        hcl.value(text)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text('ab ,"\\{}[]=:é\n#/'),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text('ab_ 1-{"', min_size=1), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(
    st.lists(
        st.lists(PLAIN, max_size=3) | st.dictionaries(st.just("two words"), PLAIN),
        min_size=1,
        max_size=3,
    )
)
def test_a_written_value_reads_back_and_its_commas_do_not_split_it(values):
    texts = [hcl.text_of(value) for value in values]
    assert hcl.split(",".join(texts)) == texts
    assert [hcl.value(text) for text in texts] == values
