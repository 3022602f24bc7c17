"""The table in the published shape: values, marks, and the sentences under it."""

import csv
import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from experiments.download.declaration import DOWNLOAD
from stampede import phrases
from stampede.cell import Cell
from stampede.report import published, table
from stampede.report.measured import mean_bytes, spreads
from stampede.report.run import load
from stampede.runs import cells
from tests.unit.report.handmade_run import table_of


def test_every_measured_row_is_followed_by_its_published_row(make_run):
    rows = table_of(load(make_run())).rows
    assert len(rows) == 12
    known = published.table(DOWNLOAD)
    for ours, theirs in zip(rows[::2], rows[1::2], strict=True):
        assert ours.key == theirs.key
        assert (ours.source, theirs.source) == ("this machine", "AWS, published 2025")
        assert theirs["avg_s"] == known[ours.key][1]["avg_s"]
        assert theirs["count"] is None
        assert ours["count"] == 10 * ours.key.n


def test_a_cell_that_was_never_published_stands_alone(make_run):
    rows = table_of(load(make_run(memories=(512,), concurrencies=(3,)))).rows
    assert [row.source for row in rows] == ["this machine"]


def test_a_planned_cell_without_downloads_keeps_its_line(make_run):
    rows = table_of(load(make_run(memories=(1024,), concurrencies=(1, 5), lost=set(range(50))))).rows
    assert [(row.key.n, row["count"], row["avg_s"]) for row in rows if row.measured] == [(1, 0, None), (5, 0, None)]


def test_the_means_that_were_predicted_stand_under_the_table_of_a_run_on_aws(make_run):
    folder = make_run(memories=(1024,), concurrencies=(1, 5), target="aws", unfinished=1)
    manifest = json.loads((folder / "run.json").read_text())
    cells = {row["cell"]: {"avg_s": 12.9 + at} for at, row in enumerate(manifest["plan"]["cells"])}
    manifest["prediction"] = {"place": "aws", "cells": cells | {"another": {}, "damaged": {"avg_s": "12"}, "odd": 3}}

    def captions(**change):
        (folder / "run.json").write_text(json.dumps(manifest | change))
        return [sentence for sentence in table_of(load(folder)).caption if "redicted" in sentence]

    assert captions() == ["Predicted means: 12.9 s with N = 1."]
    assert captions(target="local") == captions(prediction=None) == captions(prediction={"cells": 3}) == []


@pytest.mark.parametrize(
    ("peaks", "sentence"),
    [
        ({1: [1], 5: [5, 6]}, ""),
        ({1: [1], 5: [4, 4]}, "N = 5 was not reached: at most 4 ran at once."),
        (
            {5: [4, 2, None], 9: [1]},
            "N = 5 was not reached: at most 2 to 4 ran at once; N = 9 was not reached: at most 1 ran at once.",
        ),
        ({5: [5, 4]}, "N = 5 was not reached in every cell: at most 4 ran at once."),
    ],
)
def test_an_n_that_was_not_reached_is_said_under_the_table(make_run, peaks, sentence):
    made = table_of(load(make_run(memories=(1024,), concurrencies=(5,))))
    row, axes = made.rows[0], made.experiment.axes
    rows = [
        replace(row, key=Cell.of_figures(axes, row.key.figures() | {"concurrency": n}), figures={"most_at_once": peak})
        for n, reached in peaks.items()
        for peak in reached
    ]
    assert replace(made, rows=rows).unreached == sentence


def test_speed_is_the_size_over_the_mean_time(make_run):
    run = load(make_run(memories=(1024,), concurrencies=(5,)))
    ours, theirs = table_of(run).rows
    times = run.operations["seconds"].tolist()
    assert ours["mbit_per_s"] == pytest.approx(64 * 1.048576 * 8 / (sum(times) / len(times)))
    assert theirs["mbit_per_s"] == pytest.approx(1073.741824 * 8 / 12.86)


def test_a_record_without_its_size_gives_no_speed(make_run):
    folder = make_run(memories=(1024,), concurrencies=(1,))
    text = (folder / "records.jsonl").read_text()
    (folder / "records.jsonl").write_text(text.replace('"bytes": 67108864', '"bytes": null', 1))
    run = load(folder)
    assert mean_bytes(run) == {}
    assert table_of(run).rows[0]["mbit_per_s"] is None


def test_the_rows_of_the_query_are_shown_as_they_are(make_run):
    run = load(make_run(memories=(1024,), concurrencies=(1,)))
    rows = cells.from_counted(spreads(run))
    rows[0]["avg_s"] = 99.5
    assert table_of(run, rows).rows[0]["avg_s"] == 99.5


def test_a_local_table_says_that_it_is_not_aws(make_run):
    text = " ".join(table_of(load(make_run())).caption)
    assert "describe this machine, not AWS" in text
    assert "64 MiB" in text
    assert "Compare Mbit/s, not seconds" in text


def test_a_table_from_aws_with_the_published_object_makes_no_such_reservation(make_run):
    text = " ".join(table_of(load(make_run(target="aws", object_bytes=1024**3))).caption)
    assert "this machine" not in text
    assert "Compare Mbit/s, not seconds" not in text
    assert "1 GiB" in text


def test_the_terminal_table_fits_into_80_columns_and_hides_nothing(make_run):
    console = Console(file=io.StringIO(), width=80)
    console.print(table.to_rich(table_of(load(make_run()))))
    text = console.file.getvalue()
    assert "…" not in text
    assert text.count("this machine ") >= 6
    assert text.count("AWS, published 2025 ") == 6
    assert "not AWS" in " ".join(text.split())


def test_a_terminal_too_narrow_for_all_figures_gets_the_important_ones_and_the_names_of_the_others(make_run):
    console = Console(file=io.StringIO(), width=49)
    console.print(table.to_rich(table_of(load(make_run())), 49))
    lines = console.file.getvalue().splitlines()
    assert lines[1].split() == ["MB", "N", "where", "count", "min", "s", "avg", "s", "/s"]
    assert max(map(len, lines)) <= 49 and "…" not in console.file.getvalue()
    note = " ".join(console.file.getvalue().split())
    assert "not shown in 49 columns: p25 s, p75 s, max s, peak; --format csv has them" in note


def test_csv_and_json_hold_every_digit(make_run):
    run = load(make_run())
    beside = table_of(run)
    from_csv = list(csv.DictReader(io.StringIO(table.to_csv(beside))))
    from_json = json.loads(table.to_json(beside))
    assert [float(row["avg_s"]) for row in from_csv] == [row["avg_s"] for row in beside.rows]
    assert [row["avg_s"] for row in from_json] == [row["avg_s"] for row in beside.rows]
    assert from_csv[1]["count"] == ""
    assert from_json[1]["count"] is None
    assert list(from_csv[0])[:5] == ["memory_size_mb", "concurrency", "source", "count", "min_s"]


def test_markdown_is_a_pipe_table_with_its_caption(make_run):
    lines = table.to_markdown(table_of(load(make_run(memories=(1024,), concurrencies=(1,))))).splitlines()
    assert {line.count("|") for line in lines[:4]} == {12}
    assert "| AWS, published 2025 | – | 12.04 | 12.16 | 12.67 | 13.31 | 13.74 |" in lines[3]
    assert "not AWS" in lines[5]


@pytest.mark.parametrize("form", ["table", "csv", "json", "markdown"])
def test_every_form_is_printed_on_stdout(make_run, capsys, form):
    table.print_table(table_of(load(make_run())), form)
    out, err = capsys.readouterr()
    assert "this machine" in out
    assert err == ""


def test_another_form_is_refused(make_run):
    with pytest.raises(ValueError, match="printed as table, csv, json, markdown"):
        table.print_table(table_of(load(make_run())), "xml")


def test_sizes_are_written_in_binary_units():
    assert [phrases.size_words(size) for size in (1024**3, 64 * 1024**2, 1536, 12)] == [
        "1 GiB",
        "64 MiB",
        "1.5 KiB",
        "12 bytes",
    ]
