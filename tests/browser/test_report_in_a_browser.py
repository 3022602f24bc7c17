"""The report's page in a real browser, from a file, as people open it."""

import json
import re

import pytest

from experiments import EXPERIMENTS
from stampede import report
from tests.browser.chromium import CONTRASTS
from tests.contract import synthetic
from tests.unit.report import copied_run
from tests.unit.report.sketches import pictures

MESSY = {"failing": {3, 7}, "retried": {2}, "duplicated": {4}, "lost": {9}, "unfinished": 1, "warm_ups": 1}
PAGES = {
    "plain": {},
    "messy": MESSY,
    "repeated": {"repeats": 2},
    "empty": {"lost": set(range(100))},
    "methods": {"methods": ("download_file", "stream", "ranges", "crt", "go_stream", "go_ranges")},
}
CELLS = '[aria-labelledby="cells-caption"]'


def first_lines(tab, column: int) -> list[str]:
    """The entries of one column of the published table, of the first line of each cell."""
    script = f"[...document.querySelectorAll('{CELLS} tbody')].map(b => b.rows[0].cells[{column}].textContent)"
    return tab.run(script)


@pytest.fixture
def page(runs):
    return lambda name: runs(name, **PAGES[name]) / "report.html"


@pytest.mark.parametrize("name", PAGES)
def test_the_page_loads_without_a_complaint_or_a_request(page, open_tab, name):
    path = page(name)
    tab = open_tab(path)
    assert tab.complaints() == []
    assert tab.requests() == [path.as_uri()]


@pytest.mark.parametrize("name", PAGES)
def test_the_page_never_scrolls_sideways(page, open_tab, name):
    tab = open_tab(page(name))
    tab.run("document.querySelectorAll('details').forEach(d => d.open = true)")
    for width, height in ((390, 844), (1200, 900)):
        tab.resize(width, height)
        assert tab.run("document.documentElement.scrollWidth") <= tab.run("innerWidth") == width


def test_no_table_has_to_be_scrolled_on_a_wide_screen(page, open_tab):
    tab = open_tab(page("plain"), 1200)
    tab.run("document.querySelectorAll('details').forEach(d => d.open = true)")
    wide = "[...document.querySelectorAll('.scroll')].map(s => s.scrollWidth - s.clientWidth)"
    assert set(tab.run(wide)) == {0}


def test_every_picture_is_visible_and_fills_its_place(page, open_tab):
    for width in (390, 1200):
        tab = open_tab(page("plain"), width)
        sizes = tab.run("[...document.querySelectorAll('figure svg')].map(s => [s.clientWidth, s.clientHeight])")
        assert len(sizes) == 4
        assert all(wide >= 340 and high >= 80 for wide, high in sizes)
        widths = "[...document.querySelectorAll('figure svg text')].map(t => t.getBoundingClientRect().width)"
        assert min(tab.run(widths)) > 0


def test_text_in_pictures_can_be_read_on_a_phone(page, open_tab):
    tab = open_tab(page("plain"), 390)
    heights = tab.run(
        "[...document.querySelectorAll('figure svg text')].map(t => parseFloat(getComputedStyle(t).fontSize)"
        " * t.ownerSVGElement.getScreenCTM().a)"
    )
    assert min(heights) >= 8.5


def test_no_picture_lacks_its_words(page, open_tab):
    tab = open_tab(page("plain"))
    named = tab.run(
        "[...document.querySelectorAll('svg, img')].map(s => (s.getAttribute('aria-labelledby') || '').split(' ')"
        ".map(id => (document.getElementById(id) || {}).textContent || '').join(' '))"
    )
    assert len(named) == 4
    assert all(len(text) > 40 for text in named)
    assert tab.run("document.querySelectorAll('img:not([alt])').length") == 0
    roles = [node["role"]["value"] for node in tab.send("Accessibility.getFullAXTree")["nodes"] if node.get("role")]
    assert roles.count("image") + roles.count("img") >= 4


def test_a_click_on_a_heading_sorts_and_a_second_one_turns_it_round(page, open_tab):
    tab = open_tab(page("plain"))
    before = first_lines(tab, 6)
    tab.click(f"{CELLS} th:nth-child(7) button")
    ascending = first_lines(tab, 6)
    assert ascending == sorted(before, key=float) != before
    assert tab.run(f"document.querySelector('{CELLS} th:nth-child(7)').getAttribute('aria-sort')") == "ascending"
    tab.click(f"{CELLS} th:nth-child(7) button")
    assert first_lines(tab, 6) == ascending[::-1]
    assert tab.run(f"document.querySelector('{CELLS} th:nth-child(7)').getAttribute('aria-sort')") == "descending"
    tab.click(f"{CELLS} th:nth-child(2) button")
    assert [int(text) for text in first_lines(tab, 1)] == [1, 1, 5, 5, 10, 10]
    assert tab.run(f"document.querySelectorAll('{CELLS} [aria-sort]').length") == 1


@pytest.mark.parametrize("key", ["Enter", " "])
def test_a_table_sorts_by_the_keyboard_alone(page, open_tab, key):
    tab = open_tab(page("plain"))
    before = first_lines(tab, 6)
    tab.run(f"document.querySelector('{CELLS}').focus()")
    for _ in range(7):  # the seventh heading
        tab.press("Tab")
    assert tab.run("document.activeElement.textContent.trim()") == "avg s"
    assert tab.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    tab.press(key)
    assert first_lines(tab, 6) == sorted(before, key=float)


def test_published_lines_stay_under_their_cell_when_sorted(page, open_tab):
    tab = open_tab(page("plain"))
    tab.click(f"{CELLS} th:nth-child(10) button")
    lines = tab.run(
        f"[...document.querySelectorAll('{CELLS} tbody')]"
        ".map(b => [...b.rows].map(r => [...r.cells].slice(0, 3).map(c => c.textContent)))"
    )
    assert len(lines) == 6
    for ours, theirs in lines:
        assert ours[:2] == theirs[:2]
        assert (ours[2], theirs[2]) == ("this machine", "AWS, published 2025")


def test_missing_values_are_sorted_last_in_both_directions(page, open_tab):
    tab = open_tab(page("messy"))
    for order in (1, 2):
        for _ in range(order):
            tab.click(f"{CELLS} th:nth-child(7) button")
        texts = first_lines(tab, 6)
        assert texts[-1] == "–"
        assert "–" not in texts[:-1]


def test_every_table_of_cells_can_be_sorted_by_every_column(page, open_tab):
    tab = open_tab(page("repeated"))
    tab.run("document.querySelectorAll('details').forEach(d => d.open = true)")
    counts = tab.run(
        "[...document.querySelectorAll('table.sortable')].map(t => { const heads = [...t.tHead.rows[0].cells];"
        " const lines = t.tBodies.length; heads.forEach(h => h.querySelector('button').click());"
        " return [heads.length, lines === t.tBodies.length, t.lastElementChild === (t.tFoot || t.lastElementChild)]; })"
    )
    assert len(counts) == 7
    assert all(heads >= 6 and same and foot_last for heads, same, foot_last in counts)
    assert tab.complaints() == []


def test_the_first_tab_stop_skips_to_the_content(page, open_tab):
    tab = open_tab(page("plain"))
    tab.press("Tab")
    assert tab.run("document.activeElement.textContent") == "Skip to the content"
    assert tab.run("document.activeElement.getBoundingClientRect().top") >= 0
    tab.press("Enter")
    assert tab.run("document.activeElement.id") == "content"


def test_the_records_arrive_unpacked_and_whole(page, open_tab, tmp_path):
    path = page("plain")
    tab = open_tab(path)
    tab.downloads(tmp_path)
    tab.click("a[data-plain]")
    assert tab.downloaded() == "plain.records.jsonl"
    assert (tmp_path / "plain.records.jsonl").read_bytes() == (path.parent / "records.jsonl").read_bytes()


def test_every_other_download_arrives_as_it_is_on_disk(page, open_tab, tmp_path):
    path = page("plain")
    tab = open_tab(path)
    tab.downloads(tmp_path)
    for label in ("table.md", "statistics.json"):
        tab.click(f"[id='download-{label}']")
        name = tab.downloaded()
        assert (tmp_path / name).read_bytes() == (path.parent / label).read_bytes()
    tab.click("[id='download-table.csv']")
    lines = (tmp_path / tab.downloaded()).read_text().splitlines()
    assert len(lines) == 13
    assert lines[0].startswith("memory_size_mb,concurrency,source,count,min_s")


def test_without_a_script_everything_is_there_and_the_records_still_arrive(page, open_tab, tmp_path):
    path = page("plain")
    tab = open_tab(path, script=False)
    tab.downloads(tmp_path)
    tab.send("Emulation.setScriptExecutionDisabled", value=False)  # for asking; the page's own script never ran
    assert tab.run("document.querySelectorAll('thead button, .copy').length") == 0
    assert len(first_lines(tab, 6)) == 6
    tab.click("a[data-plain]")
    assert tab.downloaded() == "plain.records.jsonl.gz"


def test_the_page_prints_on_several_pages_on_white_with_its_details(page, open_tab):
    tab = open_tab(page("plain"), scheme="dark")
    assert len(re.findall(rb"/Type\s*/Page\b", tab.pdf())) in range(4, 13)
    tab.media("print", "dark")
    assert tab.run("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"
    assert tab.run("getComputedStyle(document.querySelector('nav')).display") == "none"
    heights = tab.run("[...document.querySelectorAll('details table')].map(t => t.getBoundingClientRect().height)")
    assert len(heights) == 2
    assert min(heights) > 20


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_background(page, open_tab, scheme):
    """WCAG 2.2, 1.4.3: a contrast of at least 4.5 to 1."""
    tab = open_tab(page("messy"), scheme=scheme)
    low = tab.run(CONTRASTS)
    assert low["checked"] > 300
    assert low["found"] == []


def test_a_page_of_thirteen_thousand_records_is_small_and_has_few_elements(runs, open_tab):
    folder = runs(
        "large",
        target="aws",
        concurrencies=(1, 5, 10, 50, 100, 500),
        object_bytes=1024**3,
        base_s=12.6,
        slope=0.0001,
        jitter=0.05,
        ramp_per_s=5,
    )
    page = folder / "report.html"
    assert len((folder / "records.jsonl").read_text().splitlines()) == 13320
    assert page.stat().st_size < 3_000_000
    tab = open_tab(page, 390)
    assert tab.complaints() == []
    assert tab.run("document.documentElement.scrollWidth") == 390
    # Seconds would be those of this machine: of so many records a page that is slow has an element each.
    assert tab.run("document.querySelectorAll('*').length") < 5000
    address = tab.run("document.getElementById('download-records.jsonl').href")
    assert address == (folder / "records.jsonl").as_uri()


def test_two_runs_are_compared_on_a_page_that_keeps_the_same_promises(runs, open_tab, tmp_path):
    path = report.compare([runs("plain"), runs("messy", **MESSY)], tmp_path)
    for width in (390, 1200):
        tab = open_tab(path, width)
        assert tab.complaints() == []
        assert tab.requests() == [path.as_uri()]
        assert tab.run("document.documentElement.scrollWidth") == width
        assert tab.run("document.querySelector('figure svg').clientHeight") > 100
    ratios = "[...document.querySelectorAll('table.sortable tbody')].map(b => b.rows[0].cells[6].textContent)"
    before = tab.run(ratios)
    tab.click("table.sortable th:nth-child(7) button")
    shown_ratios = [float(text) for text in tab.run(ratios) if text != "–"]
    assert shown_ratios == sorted(float(text) for text in before if text != "–")
    assert json.dumps(before) != "[]"


@pytest.mark.parametrize("experiment", ["copy", "copy_host"])
def test_a_page_of_objects_a_knee_and_courses_loads_whole_and_never_scrolls_sideways(tmp_path, open_tab, experiment):
    speeds = {1: [5, 6, 5, 4, 5], 100: [300, 310, 290, 305, 301], 1000: [280, 310, 305, 290, 300]}
    folder = copied_run.write(tmp_path / "run", speeds, experiment=experiment, settings=["pace=fixed,adaptive"])
    with pictures(svg=True, png=False):
        report.build(folder)
    tab = open_tab(folder / "report.html")
    assert tab.complaints() == []
    assert {"knee", "rate", "objects"} <= set(tab.run("[...document.querySelectorAll('h2')].map(h => h.id)"))
    tab.run("document.querySelectorAll('details').forEach(d => d.open = true)")
    for width, height in ((390, 844), (1200, 900)):
        tab.resize(width, height)
        assert tab.run("document.documentElement.scrollWidth") <= tab.run("innerWidth") == width
        sizes = tab.run("[...document.querySelectorAll('figure svg')].map(s => [s.clientWidth, s.clientHeight])")
        assert all(wide >= 340 and high >= 80 for wide, high in sizes)


@pytest.fixture(scope="module")
def matrix(tmp_path_factory):
    """Builds the report of an experiment's local matrix, once for all tests; the page."""
    built = {}

    def build(experiment):
        if experiment not in built:
            folder = tmp_path_factory.mktemp(experiment) / "run"
            synthetic.write(folder, EXPERIMENTS[experiment], per_n=10)
            with pictures(svg=True, png=False):
                built[experiment] = report.build(folder)
        return built[experiment]

    return build


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_the_first_screen_of_a_phone_has_the_answer_how_sure_it_is_and_where_it_was_measured(
    matrix, open_tab, experiment
):
    tab = open_tab(matrix(experiment), 390)
    places = tab.run(
        "['h1', '.basis div:nth-child(1)', '.basis div:nth-child(2)'].map(one => document.querySelector(one))"
        ".map(one => [one.getBoundingClientRect(), one.textContent.trim()])"
        ".map(([box, text]) => [box.top, box.bottom, text])"
    )
    tops, bottoms, texts = zip(*places, strict=True)
    assert min(tops) >= 0 and max(bottoms) <= tab.run("innerHeight") == 844
    assert list(tops) == sorted(tops)
    assert texts[1].startswith("How sure") and texts[2].startswith("Measured on")


# Of each number of a table: its column, and where its decimal point stands, or would stand, from the right.
POINTS = """[...document.querySelectorAll('table.sortable')].map((table, at) =>
  [...table.querySelectorAll('td[data-value]')].filter(cell => /^[^\\d]*[\\d,]+(\\.\\d+)?$/.test(cell.textContent))
  .map(cell => { const text = cell.firstChild, point = text.data.indexOf('.'), range = document.createRange();
    const end = point < 0 ? text.data.length : point;
    range.setStart(text, end - 1); range.setEnd(text, end);
    return [`${at}.${cell.cellIndex}`, range.getBoundingClientRect().right, text.data]; })).flat()"""


@pytest.mark.parametrize("experiment", EXPERIMENTS)
@pytest.mark.parametrize("script", [True, False])
def test_numbers_are_aligned_by_their_decimal_point_and_read_as_they_are(matrix, open_tab, experiment, script):
    tab = open_tab(matrix(experiment), script=script)
    tab.send("Emulation.setScriptExecutionDisabled", value=False)  # for asking
    tab.run("document.querySelectorAll('details').forEach(d => d.open = true)")
    columns = {}
    for column, right, text in tab.run(POINTS):
        columns.setdefault(column, []).append((right, text))
    assert len(columns) > 20
    mixed = [texts for texts in columns.values() if len({len(text.partition(".")[2]) for _, text in texts}) > 1]
    assert mixed  # else there would be nothing to align
    for column in columns.values():
        rights = [right for right, _ in column]
        assert max(rights) - min(rights) < 0.6, column
    padded = "document.querySelector('td[data-decimals]')"
    copied = tab.run(f"(() => {{ getSelection().selectAllChildren({padded}); return String(getSelection()); }})()")
    assert copied.strip() == tab.run(f"{padded}.textContent") == tab.run(f"{padded}.innerText")
