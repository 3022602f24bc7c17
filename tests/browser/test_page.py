"""Reports in a real browser, opened from a file as people do: each page once, with everything that
a reader does to it."""

import gzip
import json

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
FOLDED = "[...document.querySelectorAll('details > :not(summary)')].map(e => e.checkVisibility())"


def assert_whole(tab, page):
    """The first screen has the answer, its basis and the whole chart; nothing was asked for,
    nothing is cut off."""
    bottoms = tab.run(BOTTOMS)
    assert bottoms == sorted(bottoms) and bottoms[-1] <= tab.run("innerHeight")
    assert (tab.complaints(), tab.requests()) == ([], [page.as_uri()])
    assert tab.run("document.documentElement.scrollWidth") <= tab.run("innerWidth")


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_a_page_has_the_answer_on_its_first_screen_and_can_be_read_on_a_phone(
    build, open_tab, experiment
):
    page = build(experiment)
    tab = open_tab(page)
    assert_whole(tab, page)
    tab.run(OPEN_ALL)
    assert set(tab.run(HIDDEN)) == {0}
    tab = open_tab(page, 390)
    assert_whole(tab, page)
    tab.run(OPEN_ALL)
    assert tab.run("document.documentElement.scrollWidth") == 390
    assert min(tab.run(LETTERS)) >= 8.5  # CSS pixels


def test_what_a_run_says_of_itself_stays_text_and_a_script_that_got_into_the_page_does_nothing(
    open_tab, tmp_path
):
    folder = synthetic.write(tmp_path / STRANGE_ID, EXPERIMENTS["download"], unmeasured=1)
    records = folder / "records.jsonl"
    records.write_text(records.read_text().replace("slow down", json.dumps(HOSTILE)[1:-1]))
    page = report.build(folder).page
    tab = open_tab(page)
    assert (tab.complaints(), tab.requests()) == ([], [page.as_uri()])
    assert tab.run("document.scripts.length") == 1
    assert STRANGE_ID in tab.run("document.title")
    assert HOSTILE in tab.run("document.getElementById('failures').parentElement.textContent")
    for _ in range(2):  # a row without a figure is last in both directions
        tab.click("table th:nth-child(4) button")
        assert tab.run(MEDIANS)[-1] == "–"
    page.write_text(page.read_text().replace("<main", f"{HOSTILE}<main"))
    tab = open_tab(page)
    assert (tab.run("document.images.length"), tab.requests()) == (1, [page.as_uri()])
    assert tab.run("document.title") != "ran" and "Content Security Policy" in tab.complaints()[0]


def test_a_reader_skips_to_the_content_sorts_by_the_keyboard_and_prints_all_of_it(build, open_tab):
    # Numbers whose order differs as text.
    page = build("download", "long", takes=lambda demand: 1.5 * demand.concurrency)
    tab = open_tab(page, scheme="dark")
    tab.press("Tab")
    assert tab.run("document.activeElement.getBoundingClientRect().top") >= 0
    tab.press("Enter")
    assert tab.run("document.activeElement.id") == "content"
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
    assert tab.run(SOURCES) == ["AWS, published 2025"] * 6  # each next to its cell
    assert set(tab.run(FOLDED)) == {False}
    tab.media("print", "dark")
    assert set(tab.run(FOLDED)) == {True}
    assert (
        tab.run("getComputedStyle(document.documentElement).backgroundColor")
        == "rgb(255, 255, 255)"
    )


def test_a_download_is_the_file_of_the_folder_and_a_script_unpacks_it(build, open_tab, tmp_path):
    page = build("download")
    for selector, script, name in (
        ("a[download$='statistics.json']", True, "download.statistics.json"),
        ("a[data-plain]", True, "download.records.jsonl"),
        ("a[data-plain]", False, "download.records.jsonl.gz"),
    ):
        tab = open_tab(page, script=script)
        tab.send("Emulation.setScriptExecutionDisabled", value=False)  # the page's script never ran
        assert tab.run("document.querySelectorAll('button').length > 0") is script
        file = tab.download(selector, tmp_path)
        content = file.read_bytes() if script else gzip.decompress(file.read_bytes())
        original = page.parent / name.removeprefix("download.").removesuffix(".gz")
        assert (file.name, content) == (name, original.read_bytes())


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_background(tmp_path, open_tab, scheme):
    """WCAG 2.2, 1.4.3: a contrast of at least 4.5 to 1."""
    tab = open_tab(report.build(golden.unpack("function_lost", tmp_path)).page, scheme=scheme)
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


def test_a_comparison_of_runs_is_a_complete_page_too(build, open_tab, tmp_path):
    pages = build("download"), build("download", "later", takes=lambda demand: demand.concurrency)
    page = report.compare([page.parent for page in pages], tmp_path).page
    for width in HEIGHTS:
        assert_whole(open_tab(page, width), page)
