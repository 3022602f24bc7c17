"""`report.compare`: runs against the first, with what makes them different said loudly."""

import base64
import csv
import io
import json
import shutil
import statistics

import pytest

from experiments import EXPERIMENTS
from stampede import report
from stampede.report import compare_runs
from stampede.report.run import load
from tests.unit.report import copied_run, sized_run
from tests.unit.report.handmade_run import key
from tests.unit.report.page_parser import Page


@pytest.fixture
def pages(make_run, tmp_path):
    """A function that compares a plain run with one of other settings and gives the page."""

    def compare(**settings) -> Page:
        output = report.compare([make_run("one"), make_run("two", **({"seed": 2} | settings))], tmp_path / "out")
        return Page(output.read_text())

    return compare


def rows_of(page: Page) -> list[list[str]]:
    return [row for row in page.rows if len(row) == 13 and row[0] in ("1,024", "2,048")]


def test_every_shared_cell_has_its_ratio_of_medians(make_run, tmp_path):
    first_run, second_run = make_run("one"), make_run("two", seed=2, base_s=0.4)
    page = Page(report.compare([first_run, second_run], tmp_path).read_text())
    runs = [load(path) for path in (first_run, second_run)]
    assert len(rows_of(page)) == 6
    for row in rows_of(page):
        cell = key(int(row[0].replace(",", "")), int(row[1]))
        medians = [statistics.median(run.done[cell]["seconds"]) for run in runs]
        assert row[4:7] == [f"{medians[0]:.3f}", f"{medians[1]:.3f}", f"{medians[1] / medians[0]:.2f}"]
        assert row[-1] == "▼ slower"
    assert "B is slower (by more than 10 %) than A in the 6 common cells: the median download" in page.text


def test_the_page_is_a_file_or_lies_in_a_folder(make_run, tmp_path):
    runs = [make_run("one"), make_run("two")]
    assert report.compare(runs, tmp_path / "new" / "x.html") == tmp_path / "new" / "x.html"
    assert report.compare(runs, tmp_path / "folder") == tmp_path / "folder" / "comparison.html"


def test_the_figure_names_the_runs_by_their_letters_whichever_started_first(pages):
    page = pages()
    assert "the median download of B divided by that of A" in page.text and "later run" not in page.text


def test_runs_that_are_alike_bring_no_reservation(pages):
    page = pages()
    assert "not like for like" not in page.text
    assert page.faults == []
    assert sorted(set(page.ids)) == sorted(page.ids)
    assert set(page.labelled_by) <= set(page.ids)


def test_what_must_be_said_with_either_run_is_said_before_its_comparison(make_run, tmp_path):
    one, two = make_run("one"), make_run("two", seed=2)
    lines = [json.loads(line) for line in (two / "records.jsonl").read_text().splitlines()]
    kept = [row for row in lines if not (row["concurrency_limit"] == 5 and row["seq"] < 3)]
    (two / "records.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in kept))
    found = Page(report.compare([one, two], tmp_path / "out").read_text())
    _, _, caveats = found.text.partition("Before you rely on this")
    assert caveats.lstrip().startswith("The runs weren’t interleaved, so a difference may be drift")
    assert " These figures describe this machine and its emulator, not AWS" in caveats
    assert (
        "B: 6 of 320 messages didn’t succeed, and the times leave them out: 3 of 50 with 1,024 MB, N = 5; 3 of"
        in caveats
    )


def test_another_target_is_said_loudly(pages):
    text = pages(target="aws").text
    assert "B against A: not like for like" in text
    assert "Different targets: this machine and AWS, us-east-1." in text


def test_another_object_is_said_loudly_and_gives_no_ratio(pages):
    page = pages(object_bytes=1024**3)
    assert "Different sizes: 64 MiB against 1 GiB. Don’t compare seconds." in page.text
    assert {row[6] for row in rows_of(page)} == {"–"}
    assert {row[-1] for row in rows_of(page)} == {"? not comparable"}
    assert "the amounts transferred differ" in page.text


def test_cells_of_different_sizes_are_not_among_the_comparisons_that_hold_together(make_run, tmp_path):
    first_run, second_run, shorter = make_run("one"), make_run("two", seed=2), make_run("shorter", seed=2, unfinished=1)
    rows = [json.loads(line) for line in (second_run / "records.jsonl").read_text().splitlines()]
    last = next(row for row in rows if (row["memory_size"], row["concurrency_limit"]) == (2048, 10))
    last["bytes"] += 1
    (second_run / "records.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with_it, without = (
        Page(report.compare([first_run, run], tmp_path / run.name).read_text()) for run in (second_run, shorter)
    )
    assert rows_of(with_it)[:-1] == rows_of(without)
    assert rows_of(with_it)[-1][-1] == "? not comparable"
    assert "all 5 comparisons of this section hold at once" in with_it.text


def test_queries_of_two_runs_are_compared_though_nothing_is_transferred(tmp_path, monkeypatch):
    monkeypatch.setitem(EXPERIMENTS, sized_run.SIZED.name, sized_run.SIZED)
    runs = [sized_run.write(tmp_path / name, sizes=(1_000,), parallels=(1,)) for name in ("one", "two")]
    for run in runs:
        rows = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
        rows = [row | {"bytes": None} if row["operation"] == "count" else row for row in rows]
        (run / "records.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    text = Page(report.compare(runs, tmp_path / "out").read_text()).text
    assert "Different sizes" not in text and "not comparable" not in text


def test_counts_and_medians_are_those_of_what_is_compared(tmp_path):
    runs = [copied_run.write(tmp_path / name, {10: [40.0] * 9 + [50.0] * 3}) for name in ("one", "two")]
    lines = [json.loads(line) for line in (runs[1] / "records.jsonl").read_text().splitlines()]
    (runs[1] / "records.jsonl").write_text(
        "".join(f"{json.dumps(row | {'already_there': 9 * (row['seq'] < 8)})}\n" for row in lines)
    )
    [row] = [row for row in Page(report.compare(runs, tmp_path / "out").read_text()).rows if row[0] == "10"]
    # Of eight copy runs in B a part had been done before.
    assert row[1:6] == ["12", "4", "25.000", "20.000", "–"]


def test_cells_of_one_run_only_are_named(pages):
    found = pages(concurrencies=(5, 50), memories=(1024,))
    assert [row[:2] for row in rows_of(found)] == [["1,024", "5"]]
    assert "Only in B: 1,024 MB, N = 50." in found.text
    assert "Only in A: 1,024 MB, N = 1; 1,024 MB, N = 10; 2,048 MB, N = 1;" in found.text


def test_runs_with_nothing_in_common_say_so(pages):
    page = pages(concurrencies=(7,))
    assert "A and B have no cell with downloads in common, so there is nothing to compare." in page.text
    assert "svg" not in page.tags


def test_too_few_downloads_can_not_be_told(pages):
    found = pages(memories=(1024,), concurrencies=(1,), per_n=9)
    assert rows_of(found)[0][-1] == "? not comparable"
    assert "Rows without a number: each side needs 10 measurements." in found.text


def test_what_else_differs_is_listed(pages):
    rows = pages(memories=(1024,)).rows
    assert ["Plan: swept: memory size", "1024, 2048", "1024"] in rows
    assert not any(row[0] == "Versions: python" for row in rows)


def test_the_comparison_can_be_taken_along_as_csv(pages):
    page = pages()
    link = next(at for _, at in page.attributes if at.get("id") == "download-comparison.csv")
    rows = list(csv.DictReader(io.StringIO(base64.b64decode(link["href"].split(",", 1)[1]).decode())))
    assert len(rows) == 6
    assert {(row["run"], row["against"]) for row in rows} == {("two", "one")}
    for row, shown in zip(rows, rows_of(page), strict=True):
        low, value, high = (float(row[f"ratio_of_medians_{name}"]) for name in ("low", "value", "high"))
        assert low <= value <= high
        assert [row["memory_size_mb"], row["concurrency"], f"{value:.2f}"] == [
            shown[0].replace(",", ""),
            shown[1],
            shown[6],
        ]


def test_three_runs_are_each_set_against_the_first(make_run, tmp_path):
    runs = [make_run(name, memories=(1024,), seed=at) for at, name in enumerate(("one", "two", "three"))]
    page = Page(report.compare(runs, tmp_path).read_text())
    assert "B against A" in page.text
    assert "C against A" in page.text
    assert page.faults == []
    assert sorted(set(page.ids)) == sorted(page.ids)


def test_missing_cells_of_a_run_are_named(pages):
    assert (
        "B: 1 of 6 planned cells was not finished, so figures are missing or partial: 2,048 MB, N = 10."
        in pages(unfinished=1).text
    )


@pytest.mark.parametrize("which", [[], ["one"]])
def test_fewer_than_two_runs_are_refused(make_run, tmp_path, which):
    with pytest.raises(report.NoReport, match="at least two results folders"):
        report.compare([make_run(name) for name in which], tmp_path)


def test_a_run_against_itself_is_refused(make_run, tmp_path):
    folder = make_run("one")
    with pytest.raises(report.NoReport, match="a results folder is named twice"):
        report.compare([folder, folder.parent / "." / "one"], tmp_path)


def test_a_run_beside_its_copy_is_said_and_its_intervals_are_as_wide_as_between_equal_runs(make_run, tmp_path):
    folder = make_run("one")
    copy = shutil.copytree(folder, tmp_path / "copy")
    page = Page(report.compare([folder, copy], tmp_path / "out").read_text())
    assert "A and B are the same run, " in page.text
    assert {row[6] for row in rows_of(page)} == {"1.00"}
    assert not [row for row in rows_of(page) if row[7:9] == ["1.00", "1.00"] or "1.00 to 1.00" in row[7]]


def test_a_run_of_another_format_is_refused_and_nothing_is_written(make_run, tmp_path):
    first_run, second_run = make_run("one"), make_run("two")
    (second_run / "run.json").write_text(json.dumps({"format": 3}))
    with pytest.raises(report.NoReport, match="format 3, but this Stampede reads format 2"):
        report.compare([first_run, second_run], tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        (["holds"], "B is as fast (within 10 %) as A in the only common cell: the median download of B took"),
        (["faster"] * 3, "B is faster (by more than 10 %) than A in the 3 common cells: the median"),
        (["unclear"], "B is not measurably faster or slower (by 10 % or more) than A in the only common cell"),
        (
            ["holds", "holds", "slower"],
            "In the 3 common cells, B is as fast as A in 2 and slower than A in 1",
        ),
        (["slower", "unclear"], "In the 2 common cells, B is slower than A in 1 (inconclusive in 1): the median"),
        (["holds", "cant_tell"], "B is as fast (within 10 %) as A in 1 of the 2 common cells"),
        (["cant_tell"], "Whether B is faster or slower than A is unknown in the only common cell."),
    ],
)
def test_the_headline_is_a_sentence_whatever_the_cells_say(make_run, levels, words):
    side = {name: compare_runs.Side(name, load(make_run(name)), {}) for name in "AB"}
    ratio = {"low": 1.0, "high": 1.2}
    effects = {key(1024, n): {"level": level, "ratio_of_medians": ratio} for n, level in enumerate(levels, start=1)}
    assert compare_runs.headline(compare_runs.Pair(side["A"], side["B"], effects)).startswith(words)


def test_an_interval_wider_than_the_band_is_too_few_measurements_to_tell(make_run):
    side = {name: compare_runs.Side(name, load(make_run(name)), {}) for name in "AB"}
    effects = {key(1024, 1): {"level": "unclear", "ratio_of_medians": {"low": 0.49, "high": 1.22}}}
    assert compare_runs.headline(compare_runs.Pair(side["A"], side["B"], effects)) == (
        "Too few measurements to tell whether B is faster or slower (by 10 % or more) than A in the only common cell: "
        "the median download of B took 0.49 to 1.22 × as long."
    )
