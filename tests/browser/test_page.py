"""Reports in a real browser, from a file, as people open them."""

import gzip
import json
import re

import pytest

from experiments import EXPERIMENTS
from stampede import report
from tests.browser.chromium import CONTRASTS
from tests.browser.conftest import HEIGHTS
from tests.contract import golden, synthetic

STRANGE_ID = "a\"'<b>&amp;"
HOSTILE = "</title></style><script>document.title = 'ran'</script><img src=//127.0.0.1:9>"
OPEN_ALL = "document.querySelectorAll('details').forEach(d => d.open = true)"
BOTTOMS = """['h1', '.basis', 'figure']
  .map(e => document.querySelector(e).getBoundingClientRect().bottom)"""
HIDDEN = "[...document.querySelectorAll('.scroll')].map(s => s.scrollWidth - s.clientWidth)"
LETTERS = """[...document.querySelectorAll('figure svg text')].map(t =>
  parseFloat(getComputedStyle(t).fontSize) * t.ownerSVGElement.getScreenCTM().a)"""
MEDIANS = "[...document.querySelector('table').tBodies].map(b => b.rows[0].cells[3].textContent)"
SOURCES = "[...document.querySelector('table').tBodies].map(b => b.rows[1].cells[2].textContent)"
# Of each number of a table its column, and where its decimal point stands, or would stand.
POINTS = """[...document.querySelectorAll('table')].map((table, at) =>
  [...table.querySelectorAll('[data-value]')]
  .filter(cell => /^[\\d,]+(\\.\\d+)?$/.test(cell.textContent))
  .map(cell => { const text = cell.firstChild, end = text.data.split('.')[0].length;
    const range = document.createRange(); range.setStart(text, end - 1); range.setEnd(text, end);
    return [`${at} ${cell.cellIndex}`, range.getBoundingClientRect().right]; })).flat()"""


@pytest.fixture
def strange(tmp_path):
    """The page of a run whose id and errors try to be more than text; a cell has no records."""
    folder = synthetic.write(tmp_path / STRANGE_ID, EXPERIMENTS["download"], unmeasured=1)
    records = folder / "records.jsonl"
    records.write_text(records.read_text().replace("slow down", json.dumps(HOSTILE)[1:-1]))
    return report.build(folder).page


def measured(name, folder):
    """The page of a golden run."""
    return report.build(golden.unpack(name, folder)).page


def assert_whole(tab, page):
    """The first screen has the answer, its basis and the whole chart; nothing was asked for."""
    bottoms = tab.run(BOTTOMS)
    assert bottoms == sorted(bottoms) and bottoms[-1] <= tab.run("innerHeight")
    assert (tab.complaints(), tab.requests()) == ([], [page.as_uri()])


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_the_first_screen_has_the_answer_and_no_page_scrolls_sideways(build, open_tab, tmp_path, experiment):
    for width in HEIGHTS:
        page = build(experiment)
        assert_whole(open_tab(page, width), page)
    for page in (build(experiment), measured(experiment, tmp_path)):
        tab = open_tab(page)
        tab.run(OPEN_ALL)
        assert set(tab.run(HIDDEN)) == {0}
        tab.resize(390, 844)
        assert tab.run("document.documentElement.scrollWidth") == 390
        assert min(tab.run(LETTERS)) >= 8.5  # CSS pixels: they can be read


def test_numbers_are_aligned_by_their_decimal_points(build, open_tab):
    tab = open_tab(build("express"))
    tab.run(OPEN_ALL)
    columns = {}
    for column, right in tab.run(POINTS):
        columns.setdefault(column, []).append(right)
    assert len(columns) > 20
    assert max(max(rights) - min(rights) for rights in columns.values()) < 0.6


def test_what_a_run_says_of_itself_stays_text_and_a_script_that_got_into_the_page_does_nothing(strange, open_tab):
    tab = open_tab(strange)
    assert (tab.complaints(), tab.requests()) == ([], [strange.as_uri()])
    assert tab.run("document.scripts.length") == 1
    assert STRANGE_ID in tab.run("document.title")
    assert HOSTILE in tab.run("document.getElementById('failures').parentElement.textContent")
    strange.write_text(strange.read_text().replace("<main", f"{HOSTILE}<main"))
    tab = open_tab(strange)
    assert (tab.run("document.images.length"), tab.requests()) == (1, [strange.as_uri()])
    assert tab.run("document.title") != "ran" and "Content Security Policy" in tab.complaints()[0]


def test_a_table_sorts_by_the_keyboard_and_published_rows_stay_with_their_cell(build, open_tab):
    tab = open_tab(build("download"))
    before = tab.run(MEDIANS)
    tab.run("document.querySelector('table').parentElement.focus()")
    for _ in range(4):  # the median is in the fourth column
        tab.press("Tab")
    assert tab.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    tab.press("Enter")
    assert tab.run(MEDIANS) == sorted(before, key=float) != before
    tab.press(" ")
    assert tab.run(MEDIANS) == sorted(before, key=float, reverse=True)
    assert tab.run("document.querySelector('[aria-sort]').ariaSort") == "descending"
    assert tab.run(SOURCES) == ["AWS, published 2025"] * 6


def test_what_has_no_figure_is_sorted_last_in_both_directions(strange, open_tab):
    tab = open_tab(strange)
    for _ in range(2):
        tab.click("table th:nth-child(4) button")
        assert tab.run(MEDIANS)[-1] == "–"


def test_the_first_tab_stop_skips_to_the_content(build, open_tab):
    tab = open_tab(build("download"))
    tab.press("Tab")
    assert tab.run("document.activeElement.getBoundingClientRect().top") >= 0
    tab.press("Enter")
    assert tab.run("document.activeElement.id") == "content"


@pytest.mark.parametrize(
    ("selector", "script", "name"),
    [
        ("a[download$='statistics.json']", True, "download.statistics.json"),
        ("a[data-plain]", True, "download.records.jsonl"),
        ("a[data-plain]", False, "download.records.jsonl.gz"),
    ],
)
def test_a_download_is_the_file_of_the_folder_and_a_script_unpacks_it(
    build, open_tab, tmp_path, selector, script, name
):
    page = build("download")
    tab = open_tab(page, script=script)
    tab.send("Emulation.setScriptExecutionDisabled", value=False)  # the page's own never ran
    assert tab.run("document.querySelectorAll('button').length > 0") is script
    file = tab.download(selector, tmp_path)
    assert file.name == name
    content = file.read_bytes() if script else gzip.decompress(file.read_bytes())
    stem = name.removeprefix("download.").removesuffix(".gz")
    assert content == (page.parent / stem).read_bytes()


def test_details_are_closed_on_screen_and_open_in_print_on_white(build, open_tab):
    tab = open_tab(build("download"), scheme="dark")
    shown = "[...document.querySelectorAll('details > :not(summary)')].map(e => e.checkVisibility())"
    assert set(tab.run(shown)) == {False}
    assert len(re.findall(rb"/Type\s*/Page\b", tab.pdf())) in range(3, 8)
    tab.media("print", "dark")
    assert set(tab.run(shown)) == {True}
    assert tab.run("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_background(tmp_path, open_tab, scheme):
    """WCAG 2.2, 1.4.3: a contrast of at least 4.5 to 1."""
    tab = open_tab(measured("function_lost", tmp_path), scheme=scheme)
    tab.run(OPEN_ALL)
    assert tab.run("document.querySelectorAll('.problems, .warnings').length") == 2
    contrasts = tab.run(CONTRASTS)
    assert contrasts["checked"] > 200 and contrasts["faint"] == []


def test_a_page_of_thirteen_thousand_records_is_small_and_has_few_elements(build, open_tab):
    page = build("download", "large", settings=("concurrency_value=1,5,10,50,100,500",))
    records = page.parent / "records.jsonl"
    assert len(records.read_text().splitlines()) >= 13320
    assert page.stat().st_size < 1_000_000
    tab = open_tab(page, 390)
    assert tab.run("document.querySelectorAll('*').length") < 3000
    assert tab.run("document.querySelector('.downloads li:last-child a').href") == records.as_uri()


def test_a_comparison_of_runs_is_such_a_page_too(build, open_tab, tmp_path):
    pages = build("download"), build("download", "later", takes=lambda demand: demand.concurrency)
    page = report.compare([page.parent for page in pages], tmp_path).page
    for width in HEIGHTS:
        tab = open_tab(page, width)
        assert tab.run("document.documentElement.scrollWidth") == width
        assert_whole(tab, page)
