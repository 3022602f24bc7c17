"""What every experiment keeps to in the report, shown with a synthetic run made of its declaration alone. So that
nothing here holds for the download only, an experiment for tests passes the same."""

import csv
import inspect
import json
import re
import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

from experiments import EXPERIMENTS, Experiment
from stampede import insights, report
from stampede.experiment import Compare, n_axis
from stampede.planning.demand import demands
from stampede.planning.plan import make_plan
from stampede.report import sections, summary, table
from stampede.report.statistics.headline import LONGEST
from stampede.runs import cells
from stampede.runs.folder import RunFolder
from stampede.runs.store import open_store
from stampede.variable_rules import RULES
from tests.contract import synthetic
from tests.contract.copies_experiment import COPIES
from tests.contract.declaration import ROOT, kinds, wrong
from tests.unit.report.handmade_run import table_of
from tests.unit.report.page_parser import Page
from tests.unit.report.sketches import pictures

DECLARED = {**EXPERIMENTS, COPIES.name: COPIES}
# The published regular expression, with the time under the experiment's own name.
PUBLISHED = r'"concurrency_limit": (\d+), "{time}": ([\d.]+), "memory_size": (\d+), "experiment_tag": "([^"]*)"'
FORMS = ("table", "csv", "json", "markdown")


@pytest.fixture(scope="module", params=DECLARED)
def experiment(request):
    """One of them, known to loader and report while its tests run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(EXPERIMENTS, request.param, DECLARED[request.param])
        yield DECLARED[request.param]


@pytest.fixture(scope="module")
def saved(experiment, tmp_path_factory):
    """The folder above its saved queries, where the report looks for them."""
    folder = synthetic.queries(experiment, tmp_path_factory.mktemp("package") / "queries")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(summary, "QUERIES", folder.parent / "queries")
        yield folder


@dataclass(frozen=True)
class Report:
    """A run and the report that was built of it."""

    experiment: Experiment
    folder: Path

    @cached_property
    def page(self) -> Page:
        return Page((self.folder / "report.html").read_text())

    @cached_property
    def numbers(self) -> dict:
        return json.loads((self.folder / "statistics.json").read_text())

    def rows(self) -> list[dict[str, str]]:
        return list(csv.DictReader((self.folder / "cells.csv").read_text().splitlines()))


@pytest.fixture(scope="module")
def built(experiment, saved, tmp_path_factory):
    """Makes a run of these settings and builds its report, with its pictures in the forms that are wanted."""

    def build(*settings, svg=False, png=False, **options):
        folder = synthetic.write(tmp_path_factory.mktemp("runs") / "made", experiment, settings, **options)
        with warnings.catch_warnings(), pictures(svg, png, composed=svg or png):
            warnings.simplefilter("error", UserWarning)  # a picture without room for what it shows
            report.build(folder)
        return Report(experiment, folder)

    return build


@pytest.fixture(scope="module")
def default(built, experiment):
    """The report of the local matrix."""
    return built(svg=True, png=experiment is COPIES)


def values(experiment, axis):
    """Two values of an axis, the first as usual."""
    if axis.kind is int:
        least = max(1, axis.allowed[0]) if axis.allowed else 1
        return least, least + 2
    swept = experiment.matrices["local"].swept.get(axis.variable, ())
    before = [values(experiment, earlier)[0] for earlier in experiment.axes[: experiment.axes.index(axis)]]
    usual = swept[0] if swept else axis.default_of(before)
    choices = swept or axis.allowed or (RULES[axis.variable].choices if axis.variable in RULES else ())
    return usual, next((choice for choice in choices if choice != usual), "another")


# Every further axis would double the cells.
MOST_SWEPT = 3


@pytest.fixture(scope="module")
def everything(experiment, built):
    """A report in which every axis was swept, or the first ones and N, and all others stand at an unusual value."""
    axes = [axis for axis in experiment.axes if axis.variable]
    swept = {*(axis.name for axis in axes[: MOST_SWEPT - 1]), n_axis(axes)}
    settings = (
        f"{axis.variable}={','.join(map(str, values(experiment, axis)[axis.name not in swept :]))}" for axis in axes
    )
    return built(*settings, svg=True)


def all_cells(experiment):
    plan = make_plan(experiment, "local", (), messages_per_concurrency=1)
    return demands(plan)


def first_cell(experiment):
    return all_cells(experiment)[0]


def own_text(built_report):
    """All that a page says itself: without what the run gave, which may bear any name."""
    return built_report.page.text.replace(built_report.folder.name, "").replace("Download the data", "")


# Records.


def store_of(folder, experiment, *records):
    """A run that has nothing but these records."""
    (folder / "records.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return open_store(RunFolder(folder), {"experiment": experiment.name})


def test_its_records_are_records_to_the_report(experiment, tmp_path):
    known = set()
    cells_of = {synthetic.kind_of(experiment, cell): cell for cell in all_cells(experiment)}
    assert set(cells_of) == set(kinds(experiment))
    for cell in cells_of.values():
        failed = synthetic.record(experiment, cell, status="error", error_type="E")
        store = store_of(tmp_path, experiment, synthetic.record(experiment, cell), failed)
        assert store.rows("SELECT status FROM operations ORDER BY line") == [("ok",), ("error",)]
        fields = [metric.field for metric in experiment.metrics[1:] if metric.field != experiment.time_field]
        [row] = store.rows(f"SELECT {', '.join(fields)} FROM operations WHERE status = 'ok'")
        known |= {field for field, value in zip(fields, row, strict=True) if value is not None}
    assert known == {metric.field for metric in experiment.metrics[1:]} - {experiment.time_field}


def test_a_record_without_its_time_or_a_needed_axis_is_none(experiment, tmp_path):
    needed = [axis.record_field for axis in experiment.axes if not axis.is_variant]
    for name in (experiment.time_field, *needed):
        store = store_of(tmp_path, experiment, synthetic.record(experiment, first_cell(experiment)) | {name: None})
        assert store.rows("SELECT line FROM operations") == []
        [refused] = store.refused
        assert refused.startswith("records.jsonl, line 1: not a valid record (it needs ") and name in refused


def test_the_published_regular_expression_reads_its_records(experiment):
    cell = first_cell(experiment)
    line = json.dumps(synthetic.record(experiment, cell, **{experiment.time_field: 12.5}))
    match = re.match("{" + PUBLISHED.format(time=experiment.time_field), line)
    assert match
    assert match.groups() == (str(cell.concurrency), "12.5", str(cell.memory_mb), synthetic.TAG)


# Saved queries.


def test_its_saved_queries_give_rows_over_its_log_lines(experiment, saved, default):
    events = default.folder / "log_events.jsonl"
    # Those of `copy` are also those of `copy_host`, but for its own of the same name.
    folders = (experiment.name.partition("_")[0], experiment.name)
    files = {file.stem: file for folder in folders for file in sorted((saved / folder).glob("*.cwli"))}
    assert files
    for file in files.values():
        rows = insights.evaluate(file.read_text(), events).rows
        assert rows, file.name
        if file.stem == experiment.query:
            # A row lacks what none of its records has, and the fullest lacks nothing.
            assert tuple(max(rows, key=len)) == cells.header(experiment)
            assert all([name for name in cells.header(experiment) if name in row] == list(row) for row in rows)


@pytest.mark.parametrize("name", list(EXPERIMENTS))
def test_its_plan_values_are_tested(name):
    file = ROOT / f"infra/tests/{name}.tftest.hcl"
    assert re.search(rf'experiment\s+= "{name}"', file.read_text())
    assert any(file.name in path.read_text() for path in (ROOT / "tests/terraform").glob("test_*.py"))


# The report.


@pytest.mark.parametrize("run", ["default", "everything"])
def test_its_page_is_well_formed_and_has_every_section_that_it_names(experiment, request, run):
    page = request.getfixturevalue(run).page
    assert page.faults == []
    assert sorted(set(page.ids)) == sorted(page.ids)
    assert set(page.labelled_by) <= set(page.ids)
    assert all(
        reference[1:] in page.ids for reference in page.references if reference.startswith("#") and reference[1:]
    )
    for name in experiment.sections:
        may_be_missing = "None" in str(inspect.signature(sections.SECTIONS[name]).return_annotation)
        assert name in page.ids or may_be_missing, name
    assert "in doubt" not in page.text


@pytest.mark.parametrize("run", ["default", "everything"])
def test_every_picture_is_a_file_and_on_the_page(experiment, request, run):
    built_report = request.getfixturevalue(run)
    drawn = {path.stem for path in (built_report.folder / "figures").glob("*.svg")}
    assert {name.removeprefix("figure-") for name in built_report.page.ids if name.startswith("figure-")} == drawn
    assert {"seconds", "overlap_timeline"} <= drawn
    if "throughput" in experiment.sections and experiment.speed.how == "rate":
        several = len({cell["concurrency"] for cell in built_report.numbers["cells"]}) > 1
        assert "throughput_per_function" in drawn or not several
    assert ("choices" in drawn) == any(
        built_report.numbers["comparisons"].get(comparison.name)
        for comparison in experiment.compare
        if comparison.kind == "choice" and comparison.section != "by_size"
    )
    if experiment is COPIES and run == "default":
        assert all((built_report.folder / f"figures/{name}.png").read_bytes().startswith(b"\x89PNG") for name in drawn)


@pytest.mark.parametrize("run", ["default", "everything"])
def test_its_headline_is_one_short_sentence_about_its_own_operation(experiment, request, run):
    built_report = request.getfixturevalue(run)
    headline = built_report.numbers["verdict"]["headline"]
    assert len(headline) <= LONGEST and headline.endswith(".")
    assert headline in built_report.page.text
    own = {word for text in experiment.operation for word in (text, *text.split())}
    own |= {"copies"} if experiment.shared_list else set()  # that is what its objects become
    own |= {value for axis in experiment.axes if axis.kind is str for value in axis.allowed}
    other_words = {word for declared in DECLARED.values() for word in declared.operation} - own
    text = own_text(built_report)
    assert not {word for word in other_words if re.search(rf"\b{word}\b", text, re.IGNORECASE)}


@pytest.mark.parametrize("run", ["default", "everything"])
def test_its_cells_csv_has_its_axes_first_and_a_line_a_cell(experiment, request, run):
    built_report = request.getfixturevalue(run)
    plain = [axis.name for axis in experiment.axes if not axis.is_variant]
    assert list(built_report.rows()[0])[: len(plain) + 6] == [*plain, "count", *cells.SECONDS]
    assert set(built_report.rows()[0]) >= {axis.name for axis in experiment.axes}
    planned = json.loads((built_report.folder / "run.json").read_text())["cells"]
    assert len(built_report.rows()) == len(planned) == len(built_report.numbers["cells"])


@pytest.mark.parametrize("run", ["default", "everything"])
def test_its_table_is_printed_in_every_form_with_every_cell_told_apart(experiment, request, run, capsys):
    built_report = request.getfixturevalue(run)
    printed = {}
    for form in FORMS:
        table.print_table(table_of(report.load(built_report.folder)), form)
        printed[form] = capsys.readouterr().out
    names = [axis.name for axis in experiment.axes]
    rows = json.loads(printed["json"])
    ours = [tuple(row[name] for name in names) for row in rows if row["count"]]
    assert len(set(ours)) == len(ours) == len(built_report.rows())
    assert [row["source"] for row in csv.DictReader(printed["csv"].splitlines())] == [row["source"] for row in rows]
    lines = [line for line in printed["markdown"].splitlines() if line.startswith("|")]
    assert len(lines) == 2 + len(rows)
    # Each measured line of the table for reading says which cell it is.
    where = lines[0].split("|").index(" where ")
    places = [tuple(line.split("|")[:where]) for line in lines[2:] if "this machine" in line]
    assert len(set(places)) == len(places)
    assert "…" not in printed["table"]


def test_a_planned_cell_without_a_record_keeps_its_line_and_is_named(built, experiment):
    built_report = built(unmeasured=1)
    [missing] = [cell for cell in built_report.numbers["cells"] if not cell["count"]]
    assert "1 of" in built_report.page.text and "planned cells was not finished" in built_report.page.text
    assert len(built_report.rows()) == len(built_report.numbers["cells"]) - 1
    rows = table_of(report.load(built_report.folder)).rows
    assert [row.key.figures() for row in rows if row.measured and not row["count"]] == [
        {axis.name: missing[axis.name] for axis in experiment.axes}
    ]
    assert built_report.page.faults == []


def test_axes_that_were_never_swept_are_named_and_nothing_is_compared(built, experiment):
    matrix = experiment.matrices["local"]
    built_report = built(*(f"{name}={values[0]}" for name, values in matrix.swept.items()))
    assert len(built_report.rows()) == 1
    assert "only one cell ran, so there is nothing to compare" in built_report.numbers["verdict"]["headline"]
    assert not any(built_report.numbers["comparisons"].values())
    assert built_report.page.faults == []


def test_two_values_of_a_choice_are_set_against_each_other_with_an_interval(built, experiment):
    for compare in (comparison for comparison in experiment.compare if comparison.kind == "choice"):
        axis = next(candidate for candidate in experiment.axes if candidate.name == compare.axes[0])
        if not axis.variable:
            continue
        base, alternative = (
            compare.base[0],
            next(value for value in (*values(experiment, axis), "other") if value != compare.base[0]),
        )
        swept = experiment.matrices["local"].swept
        first = [f"{name}={of[0]}" for name, of in swept.items() if name != axis.variable]
        built_report = built(f"{axis.variable}={base},{alternative}", *first)
        rows = built_report.numbers["comparisons"][compare.name]
        assert rows and {row["base"][axis.name] for row in rows} == {base}
        if (
            min(cell["count"] for cell in built_report.numbers["cells"])
            < built_report.numbers["rules"]["minimum_for_comparison"]
        ):
            assert {row["all"]["level"] for row in rows} == {"cant_tell"}
            continue
        assert all(row["all"]["ratio_of_medians"]["low"] > 0 for row in rows)
        if axis.variable in experiment.ignored_locally:
            assert all("ignores" in row["all"]["words"] for row in rows)
            assert f"{compare.section}-most-caption" not in built_report.page.ids
            continue
        assert {compare.section, f"{compare.section}-most-caption"} & set(built_report.page.ids)
        headline = built_report.numbers["verdict"]["headline"]
        if compare is experiment.compare[0] and experiment.by_size:
            assert alternative in headline  # how it is worded is the business of that section
        elif alternative in experiment.stand_ins.get(axis.name, ()):
            assert headline.startswith(f"The stand-in for {alternative} was ") and "says nothing about" in headline
        elif compare is experiment.compare[0]:
            assert base in headline and ("fastest" in headline or "faster than" in headline)


# What the experiment for tests has and the download hasn't.


def test_nothing_is_wrong_with_its_declaration_but_that_it_has_no_places():
    no_place = ("isn't there", "doesn't take it", "no record has", "the time of its records", "there is no saved query")
    assert [line for line in wrong(COPIES) if not any(words in line for words in no_place)] == []


@pytest.fixture
def sketched():
    """Nobody looks at the pictures."""
    with pictures(svg=False, png=False, composed=False):
        yield


@pytest.fixture
def copies(tmp_path, monkeypatch, sketched):
    """Makes a run of copies, their declaration changed where it is said, and builds its report."""
    monkeypatch.setattr(summary, "QUERIES", tmp_path / "queries")
    synthetic.queries(COPIES, tmp_path / "queries")

    def build(*settings, **changed):
        experiment = COPIES.with_(**changed)
        monkeypatch.setitem(EXPERIMENTS, COPIES.name, experiment)
        folder = synthetic.write(tmp_path / "run", experiment, settings)
        report.build(folder)
        return Report(experiment, folder)

    return build


def on_aws(built_report):
    """The report of the same run, had it been one on AWS."""
    path = built_report.folder / "run.json"
    manifest = json.loads(path.read_text()) | {"target": "aws", "account": {"region": "us-east-1"}}
    path.write_text(json.dumps(manifest))
    report.build(built_report.folder)
    return Report(built_report.experiment, built_report.folder)


def test_an_n_that_is_usually_one_is_a_column_only_where_it_was_swept(copies, capsys):
    built_report = copies("store=s3", "dataset=large", "memory_size=1024", "concurrency_value=1,4")
    table.print_table(table_of(report.load(built_report.folder)), "markdown")
    assert capsys.readouterr().out.startswith("| storage | data set | MB | N | where |")
    [row] = built_report.numbers["comparisons"]["against_smallest_n"]
    assert row["all"]["words"].startswith("N = 4 against N = 1 (s3, large, 1,024 MB): ")
    assert "from N = 1 to N = 4" in built_report.numbers["verdict"]["headline"]
    assert [entry["words"].partition(": ")[0] for entry in built_report.numbers["verdict"]["per_memory"]] == [
        "N = 4 against N = 1 (s3, large, 1,024 MB)"
    ]


def test_an_n_that_was_not_swept_is_not_named(copies, capsys):
    built_report = copies("memory_size=1024", "dataset=large")
    table.print_table(table_of(report.load(built_report.folder)), "markdown")
    assert capsys.readouterr().out.startswith("| storage | data set | MB | where |")
    assert "fastest with large, 1,024 MB" in built_report.numbers["verdict"]["headline"]


def test_where_another_one_is_the_fastest_elsewhere_the_headline_says_on_what_it_depends(copies):
    built_report, cases = copies("threads=1,10,30", "dataset=small"), "s3 in 4 of 6 cases and efs in 2."
    # On this machine two cells that differ in memory alone ran alike, whatever came out.
    assert built_report.numbers["verdict"]["headline"] == (
        f"On this machine, which storage is the fastest varies between cells that ran alike: {cases}"
    )
    assert on_aws(built_report).numbers["verdict"]["headline"] == (
        f"On AWS, us-east-1, which storage is the fastest depends on memory and threads: {cases}"
    )


def test_what_the_embedded_aws_ignores_is_the_cause_of_nothing_there_and_may_be_on_aws(copies):
    built_report = copies("memory_size=512,1024", "store=s3", "dataset=small", "threads=1")
    [row] = built_report.numbers["comparisons"]["between_memories"]
    assert row["all"]["ratio_of_medians"] and row["all"]["words"] == (
        "1,024 MB against 512 MB (s3, small, threads = 1): the embedded AWS ignores memory, so this says nothing about "
        "it."
    )
    assert built_report.numbers["verdict"]["headline"] == (
        "This ran on the embedded AWS, which ignores memory, so it says nothing about memory; it shows that the whole "
        "path works."
    )
    assert "between_memories-caption" not in built_report.page.ids
    assert "No comparison is claimed: the embedded AWS ignores what was swept." in built_report.page.text
    there = on_aws(built_report)
    assert there.numbers["verdict"]["headline"].startswith("On AWS, us-east-1, with 1,024 MB the median copy takes ")
    assert "between_memories-caption" in there.page.ids


@pytest.mark.parametrize(("store", "published"), [("efs", ["small"]), ("s3", [])])
def test_a_published_table_without_a_row_on_the_page_has_no_note_there(copies, store, published):
    built_report = copies(f"store={store}", "memory_size=1024", "threads=1", "dataset=small")
    beside = table_of(report.load(built_report.folder))
    assert [row.key["data_set"] for row in beside.rows if not row.measured] == published
    notes = [note for note in beside.caption if "published" in note]
    assert len(notes) == 2 * len(published), notes


def test_each_of_several_choices_has_a_picture(copies):
    of_data_sets = Compare("between_data_sets", "choice", ("data_set",), base=("large",))
    built_report = copies(compare=(COPIES.compare[0], of_data_sets))
    assert {"figure-choices", "figure-choices-between_data_sets"} <= set(built_report.page.ids)
    assert built_report.page.faults == []


def test_published_tables_of_a_mean_alone_stand_beside_the_cells_of_their_own_data_set(copies):
    built_report = copies("memory_size=1024")
    theirs = [row for row in table_of(report.load(built_report.folder)).rows if not row.measured]
    assert [(*row.key.coordinates[:2], row["avg_s"], row["min_s"]) for row in theirs] == [
        ("efs", "large", 18.46, None),
        ("efs", "small", 4.19, None),
        ("s3", "large", 12.76, None),
    ]
    caption = " ".join(table_of(report.load(built_report.folder)).caption)
    assert "The data set is 1 GiB, as published (arm64, the large one)." in caption
    assert "The data set of this run is 53 MiB, the published one is 52.45 MiB (arm64, the small one)" in caption
    assert "per copy 1 GiB and 53 MiB" in built_report.page.text


def test_two_runs_of_the_same_two_data_sets_are_alike(copies, tmp_path):
    first = copies("memory_size=1024").folder
    first.rename(tmp_path / "first")
    second = copies("memory_size=1024").folder
    page = Page(report.compare([tmp_path / "first", second], tmp_path / "comparison.html").read_text())
    assert "not like for like" not in page.text
    assert page.faults == []


def test_what_a_folder_stands_in_for_is_said_in_the_headline_the_caveats_and_the_table(tmp_path, sketched):
    folder = synthetic.write(tmp_path / "run", EXPERIMENTS["filesystem"])
    report.build(folder)
    numbers = json.loads((folder / "statistics.json").read_text())
    assert numbers["verdict"]["headline"].startswith("The stand-in for efs was a folder, so this run says nothing")
    assert "A folder is the stand-in for efs; its figures say nothing about efs." in numbers["verdict"]["caveats"]
    sources = {row.key["storage"]: row.source for row in table_of(report.load(folder)).rows if row.measured}
    assert sources == {"s3": "this machine", "efs": "this machine, a folder"}


def test_a_cell_all_of_whose_records_are_repeats_has_no_empty_line_of_first_reads(tmp_path, sketched):
    folder = synthetic.write(tmp_path / "run", EXPERIMENTS["filesystem"], ["dataset=small"])
    for name in ("records.jsonl", "log_events.jsonl"):
        text = (folder / name).read_text()
        (folder / name).write_text(
            text.replace('read": "first', 'read": "repeat').replace('read\\": \\"first', 'read\\": \\"repeat')
        )
    report.build(folder)
    keys = [row.key for row in table_of(report.load(folder)).rows if row.measured]
    assert [(key["storage"], key["read"]) for key in keys] == [("efs", "repeat"), ("s3", "repeat")]


def test_the_rows_of_first_and_repeat_reads_say_that_they_are_one_cell(tmp_path, sketched):
    folder = synthetic.write(tmp_path / "run", EXPERIMENTS["filesystem"], ["dataset=small"])
    records = (folder / "records.jsonl").read_text()
    (folder / "records.jsonl").write_text(records.replace('read": "first', 'read": "repeat', 1))
    text = Page(report.build(folder).read_text()).text
    assert (
        "Rows that differ in read alone are of the same planned cell: “sent” is all of its messages in each of them."
        in text
    )
    assert "are of the same planned cell and show its figures; only “time at full N” is that of the row." in text


def test_a_storage_that_was_never_run_on_aws_is_marked_so(tmp_path, sketched):
    folder = synthetic.write(tmp_path / "run", EXPERIMENTS["filesystem"], ["storage=s3,s3files", "dataset=small"])
    report.build(folder)
    assert "s3files has never been run on AWS" in (folder / "report.html").read_text()
