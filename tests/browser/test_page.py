"""The page in a real browser, from a file, as people open it; what it shows is made up."""

import base64
import gzip
import re
from dataclasses import dataclass, replace

import pytest
from markupsafe import Markup

from stampede.report.render import MOST_ROWS, Detail, Download, Page, render
from stampede.tables import Field, Table
from tests.browser.chromium import CONTRASTS

RECORDS = b'{"seq": 1}\n{"seq": 2}\n'
HEADLINE = "Local test, not AWS: a download takes 0.11 s alone and 1.1 s with 500 at once, whatever "
HEADLINE += "method reads it and in every memory; 320 succeeded."
HOSTILE = "</style></title><script>document.body.textContent = 'gone'</script>\"'&amp;" + "w" * 300


@dataclass(frozen=True)
class Chart:
    name: str = "scale"
    title: str = "Median seconds of a download, by N"

    @property
    def inlined(self) -> Markup:
        line = '<path d="M0 0 L432 230" style="stroke: rgb(1, 2, 3)"/>'
        return Markup(f'<svg role="img" viewBox="0 0 432 230">{line}</svg>')


def results(cells: int = 3, name: str = "results") -> Table:
    """A measured row and a published one a cell; the last cell has no median."""
    medians = [(1.5, 10.25, 3)[at % 3] for at in range(cells - 1)] + [None]
    rows = []
    for n, median in enumerate(medians, 1):
        rows.append({"n": n, "source": "this machine", "median": median, "errors": n - 1})
        rows.append({"n": n, "source": "AWS, published 2025", "median": 0.5})
    fields = [
        Field("n", "N"),
        Field("source", "source", is_text=True, rank=1),
        Field("median", "median", "s", show="{:g}".format, rank=1),
        Field("errors", "errors", rank=1, look=lambda row: "bad" if row.get("errors") else ""),
    ]
    return Table(name, "Measured", fields, rows, ["A note."], lambda row: "errors" in row)


def embedded(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


PACKED = embedded("application/gzip", gzip.compress(RECORDS))
PLAIN = Page(
    title="download, A",
    kicker=["Stampede", "download", "A"],
    headline=HEADLINE,
    basis=[("Measured on", "this machine"), ("Based on", "30 downloads a cell, 95 % intervals")],
    command="stampede report results/A",
    chart=Chart(),
    tables=[results()],
    caveats=["N = 500 was not reached: at most 412 ran at once."],
    details=[
        Detail("all", "Each repeat separately", tables=[results(30, "repeats")]),
        Detail("method", "How it was measured", ["In rounds."], terms=[("Median", "The middle.")]),
    ],
    downloads=[
        Download("table.md", "A.table.md", embedded("text/markdown", b"| N |\n")),
        Download("records.jsonl", "A.records.jsonl.gz", PACKED, "compressed", "A.records.jsonl"),
    ],
)
MESSY = replace(
    PLAIN,
    problems=["2 messages are unaccounted for."],
    warnings=["The run was interrupted."],
    failures=[Detail("errors", "Errors", ["2 of 320 failed."], tables=[results(2, "failed")])],
    cost=Detail("cost", "What it cost on AWS", ["0.42 US dollars."]),
)
HOSTILE_FIELD = Field("a", HOSTILE, is_text=True, look=lambda row: HOSTILE)
HOSTILE_TABLE = Table(HOSTILE, HOSTILE, [HOSTILE_FIELD], [{"a": HOSTILE}], [HOSTILE])
STRANGE = Page(
    *(HOSTILE, [HOSTILE], HOSTILE, [(HOSTILE, HOSTILE)], HOSTILE),
    problems=[HOSTILE],
    chart=Chart(HOSTILE, HOSTILE),
    tables=[HOSTILE_TABLE],
    caveats=[HOSTILE],
    details=[Detail(HOSTILE, HOSTILE, [HOSTILE], [], [HOSTILE_TABLE], [(HOSTILE, HOSTILE)])],
    downloads=[Download(HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE)],
)
BARE = Page("A", ["A"], "Nothing succeeded.", [], "stampede report results/A")
PAGES = {"plain": PLAIN, "messy": MESSY, "strange": STRANGE, "bare": BARE}
OPEN_ALL = "document.querySelectorAll('details').forEach(d => d.open = true)"
MEDIANS = "[...document.querySelector('table').tBodies].map(b => b.rows[0].cells[2].textContent)"


@pytest.fixture
def show(open_tab, tmp_path):
    def show_page(page: Page, width: int = 1200, **options):
        path = tmp_path / "page.html"
        path.write_text(render(page), encoding="utf-8")
        return open_tab(path, width, **options)

    return show_page


@pytest.mark.parametrize("width", [390, 1200])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_loads_nothing_complains_of_nothing_and_never_scrolls_sideways(show, name, width):
    tab = show(PAGES[name], width)
    tab.run(OPEN_ALL)
    assert tab.complaints() == []
    assert len(tab.requests()) == 1
    assert tab.run("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1200, 900)])
def test_headline_basis_and_chart_are_on_the_first_screen(show, width, height):
    assert len(HEADLINE) > 135
    tab = show(PLAIN, width)
    assert tab.run("document.querySelector('figure').getBoundingClientRect().bottom") <= height
    assert tab.run("getComputedStyle(document.querySelector('path')).stroke") == "rgb(1, 2, 3)"


def test_hostile_texts_stay_texts(show):
    tab = show(STRANGE)
    assert tab.run("document.querySelector('h1').textContent") == HOSTILE
    assert tab.run("document.title") == f"{HOSTILE} · Stampede"
    assert tab.run("document.scripts.length") == 1


def test_a_script_from_elsewhere_never_runs(show):
    chart = Chart(title=Markup("<script>document.title = 'ran'</script>"))
    tab = show(replace(PLAIN, chart=chart))
    assert tab.run("document.title") == "download, A · Stampede"
    assert "Content Security Policy" in tab.complaints()[0]


@pytest.mark.parametrize("key", ["Enter", " "])
def test_a_table_sorts_by_the_keyboard_in_both_directions(show, key):
    tab = show(replace(PLAIN, tables=[results(4)]))
    tab.run("document.querySelector('thead th:nth-child(2) button').focus()")
    tab.press("Tab")
    assert tab.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    tab.press(key)
    assert tab.run(MEDIANS) == ["1.5", "3", "10.25", "–"]
    tab.press(key)
    assert tab.run(MEDIANS) == ["10.25", "3", "1.5", "–"]
    assert tab.run("document.querySelector('[aria-sort]').ariaSort") == "descending"
    sources = "[...document.querySelector('table').rows].slice(1).map(r => r.cells[1].textContent)"
    assert tab.run(sources) == ["this machine", "AWS, published 2025"] * 4


def test_decimal_points_stand_below_each_other_and_many_rows_are_folded(show):
    tab = show(PLAIN)
    missing = "[...document.querySelector('table').rows].map(r => r.cells[2].dataset.decimals || '')"
    assert tab.run(missing) == ["", "0", "0", "", "0", "", "0"]
    rows = "[...document.querySelectorAll('#all table')].map(t => t.rows.length - 1)"
    assert tab.run(rows) == [MOST_ROWS, 60 - MOST_ROWS]
    assert tab.run("document.querySelector('#all details summary').textContent") == "20 more rows"


def test_the_first_tab_stop_skips_to_the_content(show):
    tab = show(PLAIN)
    tab.press("Tab")
    assert tab.run("document.activeElement.getBoundingClientRect().top") >= 0
    tab.press("Enter")
    assert tab.run("document.activeElement.id") == "content"


def test_the_records_arrive_unpacked_and_without_a_script_as_they_are(show, tmp_path):
    for script, name in ((True, "A.records.jsonl"), (False, "A.records.jsonl.gz")):
        tab = show(PLAIN, script=script)
        tab.downloads(tmp_path)
        tab.send("Emulation.setScriptExecutionDisabled", value=False)  # the page's own never ran
        assert tab.run("document.querySelectorAll('button').length > 0") is script
        tab.click("a[data-plain]")
        assert tab.downloaded() == name
    assert (tmp_path / "A.records.jsonl").read_bytes() == RECORDS
    assert gzip.decompress((tmp_path / "A.records.jsonl.gz").read_bytes()) == RECORDS


def test_details_are_closed_on_screen_and_open_in_print_on_white(show):
    tab = show(PLAIN, scheme="dark")
    heights = "[...document.querySelectorAll('details > :not(summary)')].map(e => e.checkVisibility())"
    assert set(tab.run(heights)) == {False}
    tab.media("print", "dark")
    assert set(tab.run(heights)) == {True}
    paper = tab.run("getComputedStyle(document.documentElement).backgroundColor")
    assert paper == "rgb(255, 255, 255)"
    assert len(re.findall(rb"/Type\s*/Page\b", tab.pdf())) in range(2, 6)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_background(show, scheme):
    """WCAG 2.2, 1.4.3: a contrast of at least 4.5 to 1."""
    tab = show(MESSY, scheme=scheme)
    tab.run(OPEN_ALL)
    contrasts = tab.run(CONTRASTS)
    assert contrasts["checked"] > 100
    assert contrasts["found"] == []
