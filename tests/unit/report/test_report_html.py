"""The page: self-contained, well-formed, escaped, and with every figure of its table recomputed here."""

import base64
import gzip
import hashlib
import json
import re
import statistics
from dataclasses import replace

import pytest

from stampede import report
from stampede.report import sections
from stampede.report.html import page
from stampede.report.run import load
from stampede.report.sections import downloads
from stampede.report.sections.about import environment_lines
from stampede.report.statistics import statistics as numbers_of
from stampede.report.summary import Summary
from tests.unit.insights.nearest_rank import percentile
from tests.unit.report.handmade_run import table_of
from tests.unit.report.page_parser import Page

MESSY = {"failing": {3, 7}, "retried": {2}, "duplicated": {4}, "lost": {9}}
NOTHING = {"lost": set(range(100))}
REPEATED = {"repeats": 2, "warm_ups": 1}
EMBEDDED = ("data:text/csv", "data:text/markdown", "data:application/json", "data:application/gzip")


@pytest.fixture
def read(built_run):
    """A function that gives the page of a synthetic run, built once for all tests."""
    return lambda **settings: Page((built_run(**settings) / "report.html").read_text())


@pytest.fixture
def clean(read) -> Page:
    return read()


@pytest.mark.parametrize("settings", [{}, MESSY, NOTHING, REPEATED, {"target": "aws"}])
def test_the_page_asks_for_nothing_from_outside(built_run, settings, drawn):
    html = (built_run(**settings) / "report.html").read_text()
    page = Page(html)
    assert [ref for ref in page.references if not ref.startswith(("#", *EMBEDDED))] == []
    assert not {"link", "iframe", "object", "embed", "img", "base", "form"} & set(page.tags)
    assert not re.search(r"url\((?!#)|@import|@font-face", "".join(page.styles))
    assert "http://" not in html
    assert "https://" not in html


def test_no_script_but_the_pages_own_may_run(clean):
    assert len(clean.scripts) == 1
    digest = base64.b64encode(hashlib.sha256(clean.scripts[0].encode()).digest()).decode()
    policy = next(at["content"] for tag, at in clean.attributes if at.get("http-equiv") == "Content-Security-Policy")
    assert f"script-src 'sha256-{digest}'" in policy and "form-action 'none'" in policy
    assert "default-src 'none'" in policy


@pytest.mark.parametrize("settings", [{}, MESSY, NOTHING, REPEATED])
def test_the_page_is_well_formed(read, settings):
    page = read(**settings)
    assert page.faults == []
    assert sorted(set(page.ids)) == sorted(page.ids)
    assert set(page.labelled_by) <= set(page.ids)
    assert {ref[1:] for ref in page.references if ref.startswith("#")} <= set(page.ids)
    assert (page.tags.count("h1"), page.tags.count("main")) == (1, 1)
    assert page.tags.count("title") == 1 + page.tags.count("svg")


@pytest.mark.parametrize("settings", [{}, MESSY, NOTHING, REPEATED])
def test_every_line_of_a_table_has_as_many_entries_as_its_head(read, settings):
    tables = read(**settings).tables
    assert len(tables) >= 3
    for head, *lines in tables:
        assert {len(line) for line in lines} <= {len(head)}


def test_every_picture_has_a_title_a_text_and_a_way_to_read_it(clean):
    pictures = [at for tag, at in clean.attributes if tag == "svg"]
    assert len(pictures) == clean.tags.count("figure") == clean.tags.count("figcaption") == 4
    assert all(at["role"] == "img" and len(at["aria-labelledby"].split()) == 2 for at in pictures)
    assert clean.text.count("How to read it.") == 4
    assert (
        "Box plot of the seconds one download took, by cell. Medians in seconds: " in clean.text
        and " with 1,024 MB; " in clean.text
    )


def test_every_measured_figure_in_the_table_can_be_counted_again(built_run, read):
    records = [json.loads(line) for line in (built_run() / "records.jsonl").read_text().splitlines()]
    lines = [row for row in read().rows if len(row) == 12 and row[2] == "this machine"]
    assert len(lines) == 6
    for (memory, n), line in zip([(m, n) for m in (1024, 2048) for n in (1, 5, 10)], lines, strict=True):
        mine = [r for r in records if (r["memory_size"], r["concurrency_limit"]) == (memory, n)]
        times = [r["download_time_seconds"] for r in mine]
        p25, p75 = (percentile(times, percent) for percent in (25, 75))
        mean = statistics.fmean(times)
        at_once = max(sum(r["started_at_ms"] <= at["started_at_ms"] < r["finished_at_ms"] for r in mine) for at in mine)
        assert line[:2] == [f"{memory:,}", str(n)]
        assert line[3] == str(len(mine)) == str(10 * n)
        assert line[4:9] == [f"{value:.3f}" for value in (min(times), p25, mean, p75, max(times))]
        assert line[9] == f"{64 * 1.048576 * 8 / mean:,.0f}"
        assert line[10] == str(at_once)


def test_the_published_rows_stand_beside_marked_as_aws(clean):
    theirs = [row for row in clean.rows if len(row) == 12 and row[2] == "AWS, published 2025"]
    assert len(theirs) == 6
    assert theirs[0][:9] == ["1,024", "1", "AWS, published 2025", "–", "12.04", "12.16", "12.67", "13.31", "13.74"]


def test_a_local_page_says_that_it_describes_this_machine_and_not_aws(clean):
    assert "describe this machine, not AWS" in clean.text


def test_the_page_opens_with_the_verdict(built_run, clean):
    headline = json.loads((built_run() / "statistics.json").read_text())["verdict"]["headline"]
    assert clean.text.index(headline) < clean.text.index("measured and published")


def test_the_page_shows_the_statistics_of_every_cell(built_run, clean):
    numbers = json.loads((built_run() / "statistics.json").read_text())
    for cell in numbers["cells"]:
        seconds = cell["seconds"]
        interval = f"{seconds['median_interval']['low']:.3f} to {seconds['median_interval']['high']:.3f}"
        start = [f"{cell['memory_size_mb']:,}", str(cell["concurrency"]), str(cell["count"])]
        rows = [row for row in clean.rows if row[:3] == start and f"{seconds['median_s']:.3f}" in row]
        assert any(f"{seconds['mean_s']:.3f}" in row and interval in row for row in rows)


def test_the_accounting_shows_every_cell_and_the_sum(read):
    rows = read(**MESSY).rows
    assert ["1,024 MB, N = 1", "10", "7", "0", "2", "1", "1"] in rows
    assert ["all cells", "320", "302", "0", "12", "6", "6"] in rows


def test_where_nothing_went_wrong_no_table_of_zeros_says_so(clean, read):
    tables = {"accounting", "attempts-caption"}
    assert tables & set(clean.ids) == set() and tables <= set(read(**MESSY).ids)
    assert "No error records for 320 downloads." in clean.text


def test_cold_starts_have_a_section_where_an_interval_tells_them_from_warm_ones(read):
    few = {"memories": (1024,), "concurrencies": (20,)}
    assert "cold" in read(**few, cold_s=0.5).ids and "cold" not in read(**few, cold_s=0).ids


def test_errors_and_dead_letters_are_shown_escaped(built_run):
    html = (built_run(**MESSY) / "report.html").read_text()
    assert "<Reduce" not in html
    page = Page(html)
    example = "GetObject: 503 SlowDown <Reduce your rate & wait>"
    assert ["1,024 MB, N = 1", "ClientError", "7", "3", "1", example] in page.rows
    assert any(row[:2] == ["2,048 MB, N = 10", "2"] for row in page.rows)


def test_duplicates_are_reported_where_the_two_counts_differ(read):
    text = read(**MESSY).text
    assert "The saved query counts a redelivered message twice" in text
    assert "(6 duplicates)" in text
    assert "counts a redelivered message twice" not in read().text


def test_warm_ups_are_shown_as_a_number_and_counted_in_no_figure(read):
    page = read(**REPEATED)
    assert "warm-ups, left out 64" in page.text
    lines = [row for row in page.rows if len(row) == 12 and row[2] == "this machine"]
    assert [row[3] for row in lines] == ["20", "100", "200"] * 2


def test_text_from_the_run_can_not_become_markup(make_run):
    folder = make_run(memories=(1024,), concurrencies=(1,), target="aws")
    manifest = json.loads((folder / "run.json").read_text())
    manifest["run_id"] = '"><script>alert(1)</script>'
    manifest["versions"] = {"python": "</style><img src=x onerror=y>"}
    manifest["cost"]["items"][0]["service"] = "<b>Lambda</b>"
    (folder / "run.json").write_text(json.dumps(manifest))
    report.build(folder)
    page = Page((folder / "report.html").read_text())
    assert page.tags.count("script") == 1
    assert page.faults == []
    assert "<img src=x onerror=y>" in page.text
    assert "<b>Lambda</b>" in page.text


def test_a_run_without_a_download_gives_words_and_no_picture(read):
    page = read(**NOTHING)
    assert "This run has no download on record, so what one function gets is unknown." in page.text
    assert "This run has no records; the report shows everything else that it left." in page.text
    assert "No download succeeded, so there is no picture." in page.text
    assert "svg" not in page.tags
    assert [row[3] for row in page.rows if len(row) == 12 and row[2] == "this machine"] == ["0"] * 6


def test_planned_cells_that_were_not_finished_are_named_at_the_top_and_the_rest_is_shown(read):
    page = read(unfinished=2)
    sentence = (
        "2 of 6 planned cells were not finished, so figures are missing or partial: 2,048 MB, N = 5; 2,048 MB, N = 10."
    )
    assert page.text.index(sentence) < page.text.index("Throughput per function against N")
    assert "stampede sweep download --resume synthetic-1" in page.text
    counts = [row[3] for row in page.rows if len(row) == 12 and row[2] == "this machine"]
    assert counts == ["10", "50", "100", "10", "0", "0"]


def test_a_torn_last_record_is_named_at_the_top_and_the_rest_is_shown(make_run):
    folder = make_run()
    path = folder / "records.jsonl"
    path.write_text(path.read_text()[:-40])
    report.build(folder)
    text = Page((folder / "report.html").read_text()).text
    torn = "records.jsonl, line 320: the last line is incomplete (the writer was interrupted); left out."
    assert text.index(torn) < text.index("Throughput per function against N")
    assert "downloads 319" in text


def test_what_puts_the_table_in_doubt_is_said_before_it(make_run):
    run = load(make_run())
    doubt = ["The saved query queries/download/methods.cwli failed: line 2"]
    read = sections.Page(run, numbers_of(run), Summary([], "a query", problems=doubt), table_of(run, []))
    text = Page(page(read, [sections.SECTIONS["table"](read)])).text
    assert (
        text.index("The figures below are in doubt")
        < text.index("methods.cwli failed")
        < text.index("Seconds for one download, measured and published")
    )


def test_a_flood_by_hand_has_no_end_and_is_not_called_interrupted(built_run):
    run = load(built_run())
    ends = []
    for plan in ({"order": []}, {"fixed": {}}):
        changed_run = replace(run, manifest=run.manifest | {"finished_at": None, "plan": plan})
        ends.append(dict(environment_lines(changed_run))["finished"])
    assert ends == ["unknown: the run may have been interrupted", "not recorded for a flood by hand"]


def test_the_environment_is_shown(clean):
    for label, value in (
        ("Terraform", "1.11.4"),
        ("machine", "Linux-6.1-x86_64, 2 processors, 15.62 GiB"),
        ("MiniStack", "1.5.33"),
    ):
        assert f"{label} {value}" in clean.text


def test_the_records_are_inside_the_page_while_they_are_small(built_run, clean):
    link = next(at for _, at in clean.attributes if at.get("id") == "download-records.jsonl")
    packed = base64.b64decode(link["href"].removeprefix("data:application/gzip;base64,"))
    assert gzip.decompress(packed) == (built_run() / "records.jsonl").read_bytes()
    assert (link["download"], link["data-plain"]) == ("synthetic-1.records.jsonl.gz", "synthetic-1.records.jsonl")


def test_large_records_stay_beside_the_page(built_run, monkeypatch):
    monkeypatch.setattr(downloads, "LARGEST_EMBEDDED_BYTES", 1000)
    link = downloads.records(built_run(), "one")
    assert (link.address, link.file_name, link.plain) == ("records.jsonl", "one.records.jsonl", "")
    assert link.note.endswith("MB, a file in the same folder")


def test_table_statistics_and_markdown_inside_the_page_are_those_on_disk(built_run, clean):
    for label, name in (("table.md", "table.md"), ("statistics.json", "statistics.json")):
        link = next(at for _, at in clean.attributes if at.get("id") == f"download-{label}")
        assert base64.b64decode(link["href"].split(",", 1)[1]) == (built_run() / name).read_bytes()


def test_three_caveats_are_shown_at_once_and_the_others_on_request(built_run):
    folder = built_run(concurrencies=(2, 40), per_n=3, repeats=3, jitter=0.9, ramp_per_s=10, slope=0, base_s=1.0)
    page = (folder / "report.html").read_text()
    caveats = json.loads((folder / "statistics.json").read_text())["verdict"]["caveats"]
    assert len(caveats) > 3
    shown, _, folded = page.partition('<div class="caveats">')[2].partition("</div>")[0].partition("<details>")
    assert (shown.count("<li>"), folded.count("<li>")) == (3, len(caveats) - 3)
