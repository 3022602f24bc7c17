"""The reader's own numbers in a real browser: typed in, and compared with the same formulas in Python."""

import re
from dataclasses import astuple

import pytest

from experiments import EXPERIMENTS
from stampede import report
from stampede.phrases import dollars
from stampede.report.sections.calculator import Numbers, answer, bill
from tests.unit.report import sized_run


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = sized_run.write(tmp_path_factory.mktemp("own") / "sized-1", sizes=(1000,), parallels=(1,), queries=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(EXPERIMENTS, sized_run.SIZED.name, sized_run.SIZED)
        report.build(folder)
    return folder / "report.html"


def put_in(tab, **texts):
    """Put texts into the inputs as a keyboard does, all at once."""
    for name, text in texts.items():
        tab.run(f"document.querySelector('form.calculator [name={name}]').focus()")
        tab.run("document.activeElement.select && document.activeElement.select()")
        tab.send("Input.insertText", text=text)


def shown(tab):
    """The amounts by row, and the answer."""
    rows = "[...document.querySelectorAll('#bill-of-own tbody tr')].map(r => [...r.cells].map(c => c.textContent))"
    return {name: amounts for name, *amounts in tab.run(rows)}, text(tab, "#answer-of-own")


def text(tab, selector):
    return tab.run(f"document.querySelector('{selector}').textContent")


def expected(numbers):
    bills = {name: bill(tariff, numbers) for name, tariff in sized_run.TARIFFS.items()}
    amounts = {name: [dollars(usd) for usd in (*astuple(bill), bill.total_usd)] for name, bill in bills.items()}
    return amounts, answer(sized_run.TARIFFS, numbers)


def test_numbers_that_are_typed_in_give_the_bill_that_python_reckons(page, open_tab):
    tab = open_tab(page)
    assert shown(tab) == expected(Numbers())
    for objects, size, reads, months in (
        ("77,577", 10, "13709261", "0.5"),
        ("100", 123.4, "1e9", "36"),
        ("5", 900, "0", "1"),
    ):
        put_in(tab, objects=objects, size=str(size), reads=reads, months=months)
        own = Numbers(float(objects.replace(",", "")), size * 1000, float(reads), float(months))
        assert shown(tab) == expected(own)
    tab.run("document.querySelector('[name=unit]').value = '1000000'")
    put_in(tab, size="100")
    assert shown(tab) == expected(Numbers(5, 100e6, 0, 1))
    assert tab.complaints() == []


@pytest.mark.parametrize(
    ("name", "nonsense"),
    [
        ("objects", "1.5"),
        ("objects", "0"),
        ("size", "ten"),
        ("size", "-1"),
        ("reads", ""),
        ("reads", "1e400"),
        ("objects", "1e30"),
        ("months", "0"),
        ("months", "1,5"),
        ("months", "12,34"),
    ],
)
def test_nonsense_gets_a_hint_that_says_the_rule_and_no_figure(page, open_tab, name, nonsense):
    tab = open_tab(page)
    before = shown(tab)
    good = tab.run(f"document.querySelector('[name={name}]').value")
    put_in(tab, **{name: nonsense}) if nonsense else tab.run(
        f"(() => {{ const i = document.querySelector('[name={name}]'); i.value = ''; "
        "i.dispatchEvent(new Event('input', {bubbles: true})) })()"
    )
    amounts, says = shown(tab)
    assert {amount for row in amounts.values() for amount in row} == {"–"}
    assert says == ""
    assert re.match(r"Must be a (whole )?number (of|above) \d|Must be at most \d", text(tab, f"#hint-{name}"))
    assert tab.run(f"document.querySelector('[name={name}]').getAttribute('aria-invalid')") == "true"
    put_in(tab, **{name: good})
    assert shown(tab) == before
    assert text(tab, f"#hint-{name}") == ""


def test_every_input_has_a_label_and_is_reached_by_the_keyboard(page, open_tab):
    tab = open_tab(page)
    tab.run("document.querySelector('form.calculator [name=objects]').focus()")
    reached = []
    for _ in range(5):
        reached.append(tab.run("document.activeElement.name"))
        assert tab.run("(document.activeElement.labels[0] || {}).textContent || document.activeElement.ariaLabel")
        tab.press("Tab")
    assert reached == ["objects", "size", "unit", "reads", "months"]


def test_without_a_script_the_bill_of_the_first_numbers_stands_there_and_no_input(page, open_tab):
    tab = open_tab(page, script=False)
    snapshot = str(tab.send("DOMSnapshot.captureSnapshot", computedStyles=[])["strings"])
    for amounts in expected(Numbers())[0].values():
        assert all(f"'{amount}'" in snapshot for amount in amounts)
    tree = [node["role"]["value"] for node in tab.send("Accessibility.getFullAXTree")["nodes"] if node.get("role")]
    assert "textbox" not in tree


@pytest.mark.parametrize("width", [390, 1200])
def test_the_page_with_a_calculator_never_scrolls_sideways(page, open_tab, width):
    tab = open_tab(page, width)
    tab.run("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert tab.run("document.documentElement.scrollWidth") <= width
