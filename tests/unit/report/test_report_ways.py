"""A sweep over methods and sinks: every table tells them apart, and nothing pools them."""

import io
import json
import re

import pytest
from rich.console import Console

from experiments.download.declaration import DOWNLOAD
from stampede import report
from stampede.report import statistics, table
from stampede.report.measured import metrics_of, spreads
from stampede.report.run import load
from stampede.report.sections import variants
from stampede.report.summary import summarised
from tests.unit.report import handmade_run, recompute
from tests.unit.report.handmade_run import columns, key, lasting, table_of
from tests.unit.report.sketches import pictures

VARIANTS = {
    ("download_file", "tmp"): [1.0, 1.2, 1.1, 1.3],
    ("stream", "discard"): [0.5, 0.6, 0.4, 0.7],
    ("ranges", "tmp"): [0.3, 0.2, 0.4, 0.3],
    ("ranges", "memory"): [0.25, 0.2, 0.3, 0.25],
    ("crt", "tmp"): [0.8, 0.9, 0.7, 0.8],
}
PLAN = {"method": ["download_file", "stream", "go_stream"], "concurrency_value": [1], "memory_size": [1024]}


def records(n=1):
    """Records of every variant with the same memory and N, as many as make comparisons possible."""
    made = []
    for number, ((method, sink), seconds) in enumerate(VARIANTS.items(), start=1):
        took = {"client_cpu_seconds": number / 1000, "first_byte_seconds": number / 100, "requests": 2, "retries": 0}
        cell = f"method={method},sink={sink},concurrency_value={n},memory_size=1024"
        made += lasting([value * n for value in seconds] * 3, n, method=method, sink=sink, cell=cell, **took)
    made[-1]["retries"] = 7
    return made


def write(directory):
    """A results folder with every variant at N = 1 and N = 5, one planned that never ran, and its log events."""
    made = [*records(1), *records(5)]
    handmade_run.write(directory, made, PLAN)
    events = [{"timestamp": record["finished_at_ms"], "message": json.dumps(record) + "\n"} for record in made]
    (directory / "log_events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    return directory


@pytest.fixture
def folder(tmp_path):
    return write(tmp_path / "run")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The same with its report, which the tests only read."""
    directory = write(tmp_path_factory.mktemp("ways") / "run")
    with pictures(svg=True, png=False):
        report.build(directory)
    return directory


def keys(n):
    return {key(1024, n, *variant) for variant in VARIANTS}


def test_every_variant_is_a_cell_of_its_own(folder):
    run = load(folder)
    assert set(spreads(run)) == keys(1) | keys(5)
    assert spreads(run)[key(1024, 1, "crt")].avg_s == pytest.approx(0.8)
    assert spreads(run)[key(1024, 1, "ranges", "memory")].avg_s == pytest.approx(0.25)


def test_the_saved_query_has_one_row_a_variant(folder):
    summary = summarised(load(folder))
    assert (summary.problems, "log_events.jsonl" in summary.origin) == ([], True)
    [crt] = [row for row in summary.rows if (row["method"], row["concurrency"]) == ("crt", 1)]
    # 12 downloads of 1,000,000 bytes with 5 ms of CPU each, and 7 retries in the last.
    assert crt["cpu_s_per_gib"] == pytest.approx(0.005 * 2**30 / 1e6)
    assert crt["mbit_per_s"] == pytest.approx(8 / 0.8)
    assert (crt["count"], crt["retries"]) == (12, 7)
    assert len(summary.rows) == 2 * len(VARIANTS)


def test_cells_csv_has_one_line_a_variant_after_the_published_columns(built):
    header, *lines = (built / "cells.csv").read_text().splitlines()
    assert header.startswith("memory_size_mb,concurrency,count,min_s,p25_s,avg_s,p75_s,max_s,method,sink,")
    assert len(lines) == 2 * len(VARIANTS)
    assert {tuple(line.split(",")[8:10]) for line in lines} == set(VARIANTS)


def test_every_number_of_a_run_with_several_variants_can_be_recomputed(folder):
    numbers = statistics.statistics(load(folder))
    (folder / "statistics.json").write_text(statistics.to_text(numbers))
    assert recompute.mismatches(folder) == []


def test_each_n_is_compared_with_the_smallest_of_its_own_variant_only(folder):
    compared = statistics.statistics(load(folder))["comparisons"]
    rows = compared["against_smallest_n"]
    pairs = [(row["method"], row["sink"], row["base"]["method"], row["base"]["sink"]) for row in rows]
    assert pairs == [(*variant, *variant) for variant in sorted(VARIANTS)]
    assert compared["between_memories"] == []
    # Downloads at N = 5 took five times as long with every variant.
    ratios = [row["all"]["ratio_of_medians"]["value"] for row in compared["against_smallest_n"]]
    assert ratios == pytest.approx([5] * len(VARIANTS))


def test_a_ratio_to_the_fastest_is_rounded_outwards_as_in_the_headline():
    entry = variants._against_fastest({"against_fastest": {"ratio_of_medians": {"low": 1.3669, "high": 2.7109}}})
    assert entry.text == "1.36 to 2.72 × as long"


def test_each_variant_is_compared_with_the_usual_one_at_the_same_n_and_with_the_fastest(folder):
    compared = statistics.statistics(load(folder))["comparisons"]["between_ways"]
    measured_rows = [row for row in compared if row["all"]["count"]]
    assert {(row["method"], row["sink"], row["concurrency"]) for row in measured_rows} == {
        (*variant, n) for variant in VARIANTS for n in (1, 5) if variant != ("download_file", "tmp")
    }
    assert {row["base"]["method"] for row in compared} == {"download_file"}
    [crt] = [row for row in measured_rows if (row["method"], row["concurrency"]) == ("crt", 1)]
    assert crt["all"]["ratio_of_medians"]["value"] == pytest.approx(0.8 / 1.15)
    assert crt["against_fastest"]["ratio_of_medians"]["value"] == pytest.approx(0.8 / 0.25)
    assert [row["sink"] for row in measured_rows if row["against_fastest"] is None] == ["memory", "memory"]


def test_a_run_of_one_variant_compares_no_variants(tmp_path):
    directory = handmade_run.write(tmp_path / "run", lasting([0.5] * 12))
    assert list(statistics.statistics(load(directory))["comparisons"]) == ["against_smallest_n", "between_memories"]


def test_the_verdict_names_each_variant(folder):
    verdict = statistics.statistics(load(folder))["verdict"]
    named = {(entry["method"], entry["sink"]) for entry in verdict["per_memory"]}
    assert named >= set(VARIANTS)
    assert any("ranges to tmp" in entry["words"] for entry in verdict["per_memory"])
    assert not any("pools cells" in caveat for caveat in verdict["caveats"])


def test_the_table_has_one_line_a_variant_with_speed_cpu_and_retries(built, capsys):
    table.print_table(table_of(load(built)), "table")
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 100
    for name in ("download_file", "stream", "ranges", "ranges to tmp", "crt", "go_stream"):
        assert re.search(rf" {name}, ", printed), name
    table.print_table(table_of(load(built)), "json")
    rows = json.loads(capsys.readouterr().out)
    [crt] = [row for row in rows if (row["method"], row["concurrency"]) == ("crt", 1)]
    assert (crt["retries"], round(crt["mbit_per_s"], 6)) == (7, 10.0)
    assert [row["count"] for row in rows if row["method"] == "go_stream"] == [0]  # planned, and never ran


def test_on_a_narrow_terminal_nothing_is_cut_off(folder):
    console = Console(width=80, file=io.StringIO())
    console.print(table.to_rich(table_of(load(folder))))
    printed = console.file.getvalue()
    assert "…" not in printed
    assert max(map(len, printed.splitlines())) <= 80


def test_the_published_line_stands_under_the_published_method_only(folder):
    rows = table_of(load(folder)).rows
    assert {row.key.variant for row in rows if not row.measured} == {("download_file", "tmp")}


def test_markdown_names_the_variant(folder, capsys):
    table.print_table(table_of(load(folder)), "markdown")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("| MB | N | method | where |")
    assert any("| ranges to tmp |" in line for line in lines)


def test_a_run_of_the_published_method_alone_has_no_column_for_it(tmp_path, capsys):
    directory = handmade_run.write(tmp_path / "run", lasting([0.5] * 12))
    table.print_table(table_of(load(directory)), "markdown")
    assert capsys.readouterr().out.startswith("| MB | N | where |")


def test_the_page_compares_the_variants_and_what_they_took(built):
    page = (built / "report.html").read_text()
    assert "Resources used by a download" in page
    assert page.count("ranges to tmp") > 5
    assert ">crt</text>" in page  # the pictures' series


def test_what_a_record_does_not_say_is_unknown_and_not_nothing():
    made = lasting([0.5, 0.5], client_cpu_seconds=0.1, retries=0, requests=1)
    assert metrics_of(columns(made)[0], DOWNLOAD)["first_byte_s"] is None
    made[0]["retries"] = None
    metrics = metrics_of(columns(made)[0], DOWNLOAD)
    assert (metrics["retries"], metrics["requests"]) == (None, 2)


@pytest.mark.parametrize(("method", "sink"), [("download_file", "tmp"), ("ranges", "memory")])
def test_records_of_before_there_were_variants_are_of_the_published_method(tmp_path, method, sink):
    [old] = lasting([0.5])
    told = {} if method == "download_file" else {"method": method}
    assert list(load(handmade_run.write(tmp_path / "run", [old | told])).done) == [key(1024, 1, method, sink)]


def test_a_cell_in_words_names_any_method_but_the_published_one():
    assert key(1024, 5).words == "1,024 MB, N = 5"
    assert key(1024, 5, "crt", "tmp", "object_size_mb=4").words == "1,024 MB, N = 5, crt, object_size_mb=4"
    assert [key(method="stream", sink=sink).variant_words() for sink in ("discard", "tmp")] == [
        "stream",
        "stream to tmp",
    ]
