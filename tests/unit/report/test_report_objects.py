"""Where every object went, and how the rate went over time."""

import json

import numpy as np
import pytest

from stampede import report
from stampede.report import objects, statistics
from stampede.report.trajectories import trajectories
from stampede.runs.failed_objects import FAILED_OBJECTS
from tests.unit.report import copied_run
from tests.unit.report.page_parser import Page

SPEEDS = {10: [100, 110], 100: [200, 210]}


def failed(folder, rows):
    (folder / FAILED_OBJECTS).write_text("".join(json.dumps(row) + "\n" for row in rows))


def row(record, **more):
    named = {name: record[name] for name in ("cell", "seq", "attempt")}
    named |= {"slice": None, "line": None, "source": "a b", "destination": "x/a b"}
    return named | {"error_type": "AccessDenied", "error_message": "Access Denied"} | more


def page(folder):
    report.build(folder)
    return Page((folder / "report.html").read_text())


@pytest.fixture
def lossy(tmp_path):
    """Two objects of the first message failed, at its second attempt; three at its first, after which it came back."""
    folder = copied_run.write(tmp_path / "run", SPEEDS)
    first, *rest = copied_run.records(folder)
    first |= {"attempt": 2, "copied": 398, "already_there": 600, "failed": 2}
    before = first | {"attempt": 1, "status": "error", "error_type": "Deadline", "planned": None, "copied": 600}
    del before["elapsed_seconds"]
    copied_run.save(folder, [before, first, *rest])
    failed(folder, [*(row(before) for _ in range(3)), row(first), row(first, error_type="ObjectDiffers")])
    return folder


def test_an_object_copied_by_an_attempt_before_is_already_there_and_counts_once(lossy):
    [cell, _] = objects.of_cells(report.load(lossy))
    assert cell.counts == {"planned": 2000, "copied": 1398, "already_there": 600, "failed": 2}
    assert (cell.missing, cell.again, cell.open) == (0, 0, 0)


def test_messages_that_only_prepare_a_cell_are_no_warm_ups_and_results_are_not_defined_without_any(tmp_path):
    folder = copied_run.write(tmp_path / "run", SPEEDS, "copy_host")
    first, *rest = copied_run.records(folder)
    copied_run.save(folder, [first | {"seq": 99, "message_id": "empties", "warm_up": 1}, first, *rest])
    text = page(folder).text
    assert "preparing messages, left out 1" in text and "warm-ups" not in text
    assert "“Not comparable”" not in text


def test_reasons_are_of_the_attempt_that_counts_and_earlier_ones_are_apart(lossy):
    failures = objects.failures(report.load(lossy))
    assert [(reason.error_type, reason.count) for reason in failures.reasons] == [
        ("AccessDenied", 1),
        ("ObjectDiffers", 1),
    ]
    assert (failures.earlier, failures.there, failures.unreadable) == (3, True, 0)


def test_the_page_says_that_objects_are_accounted_for_why_some_failed_and_where_all_are(lossy):
    built_page = page(lossy)
    assert "Every planned object is accounted for" in built_page.text
    assert "ObjectDiffers" in built_page.text and "It has 3 more rows from attempts" in built_page.text
    assert "failed_objects.jsonl" in built_page.references
    assert built_page.faults == []


def test_objects_of_which_nothing_is_known_are_missing_and_reported(tmp_path):
    folder = copied_run.write(tmp_path / "run", SPEEDS, copied=990)
    text = page(folder).text
    assert "The records don’t say what became of 40 objects in 2 cells." in text
    assert "Every planned object is accounted for" not in text


def test_failed_objects_that_no_file_names_are_reported(tmp_path):
    folder = copied_run.write(tmp_path / "run", SPEEDS, copied=999, failed=1)
    assert "The records count 4 failed objects, but failed_objects.jsonl is missing." in page(folder).text


def test_a_message_that_never_came_to_its_end_is_open(tmp_path):
    folder = copied_run.write(tmp_path / "run", SPEEDS)
    first, *rest = copied_run.records(folder)
    first |= {"status": "error", "error_type": "Deadline"}
    copied_run.save(folder, [first, *rest])
    [cell, _] = objects.of_cells(report.load(folder))
    assert (cell.open, cell.counts["planned"]) == (1, 1000)
    text = page(folder).text
    assert "Unfinished messages: 1." in text and "Every planned object is accounted for" not in text


def account(folder, **counts):
    rows = [{"cell": f"parallel_limit={limit}", "objects": counts} for limit in SPEEDS]
    (folder / "accounting.json").write_text(json.dumps(rows))


def test_an_account_of_other_objects_than_the_records_have_is_reported(tmp_path):
    folder = copied_run.write(tmp_path / "run", SPEEDS)
    account(folder, planned=2000, copied=1999, already_there=1, failed=0)
    text = page(folder).text
    assert "a limit of 10: accounting.json has copied = 1,999 objects, but the records have 2,000." in text
    assert "accounting.json has planned" not in text and "Every planned object is accounted for" not in text


def test_objects_of_a_message_that_succeeded_twice_may_be_accounted_for_otherwise(tmp_path):
    folder = copied_run.write(tmp_path / "run", SPEEDS)
    rows = copied_run.records(folder)
    again = [record | {"attempt": 2, "copied": 0, "already_there": 1000} for record in rows]
    copied_run.save(folder, [*rows, *again])
    account(folder, planned=2000, copied=0, already_there=2000, failed=0)
    assert "Every planned object is accounted for" in page(folder).text


def test_a_message_that_left_no_record_is_open(tmp_path):
    folder = copied_run.write(tmp_path / "run", SPEEDS)
    sent = [{name: record[name] for name in ("cell", "seq", "message_id")} for record in copied_run.records(folder)]
    lost = sent[0] | {"seq": 9, "message_id": "lost"}
    (folder / "sent.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*sent, lost]))
    assert [cell.open for cell in objects.of_cells(report.load(folder))] == [1, 0]
    assert "Unfinished messages: 1." in page(folder).text


def test_a_second_success_of_a_message_is_counted_apart(tmp_path):
    folder = copied_run.write(tmp_path / "run", SPEEDS)
    rows = copied_run.records(folder)
    copied_run.save(folder, [*rows, rows[0] | {"attempt": 2, "copied": 7}])
    [cell, _] = objects.of_cells(report.load(folder))
    assert (cell.counts["copied"], cell.again) == (2000, 7)


def test_all_workers_together_are_counted_from_the_first_start_to_the_last_end(tmp_path):
    settings = ["concurrency_value=2", "from_manifest=true"]
    folder = copied_run.write(tmp_path / "run", {10: [100, 100]}, settings=settings)
    [cell] = objects.of_cells(report.load(folder))
    assert cell.per_s == pytest.approx(200)


def resumed(folder, *, records=True):
    """The first message was delivered again after 600 of its objects were copied; the first delivery left a record or
    none."""
    first, *rest = copied_run.records(folder)
    began = first["started_at_ms"]
    second = first | {"attempt": 2, "copied": 400, "already_there": 600, "calls_per_s": 40, "elapsed_seconds": 10}
    second |= {"started_at_ms": began + 20_000, "finished_at_ms": began + 30_000}
    killed = first | {"status": "error", "error_type": "Deadline", "copied": 600, "finished_at_ms": began + 6_000}
    del killed["elapsed_seconds"]
    copied_run.save(folder, [*([killed] if records else []), second, *rest])


def test_a_redelivered_copy_run_is_in_no_speed_and_moves_no_knee(tmp_path):
    folder = copied_run.write(tmp_path / "run", {10: [100] * 6, 100: [200] * 6})
    before = report.load(folder)
    resumed(folder)
    numbers = json.loads(statistics.to_text(statistics.statistics(report.load(folder))))
    cell = numbers["cells"][0]
    assert (cell["client"]["calls_per_s"], cell["left_out_of_speeds"], cell["count"]) == (100, 1, 6)
    assert [point["count"] for point in numbers["knees"]["series"][0]["points"]] == [5, 6]
    assert trajectories(report.load(folder))[0].seq == trajectories(before)[0].seq + 1
    table = page(folder).text
    assert "1 copy run left out of calls/s: an earlier delivery" in table


@pytest.mark.parametrize(("records", "per_s"), [(True, 2000 / 30), (False, None)])
def test_what_all_deliveries_copied_together_counts_from_the_first_of_them(tmp_path, records, per_s):
    settings = ["concurrency_value=2", "from_manifest=true"]
    folder = copied_run.write(tmp_path / "run", {10: [100, 100]}, settings=settings)
    resumed(folder, records=records)
    [cell] = objects.of_cells(report.load(folder))
    assert cell.per_s == (per_s and pytest.approx(per_s))


# The rate over time.


def course_of(tmp_path, text, **more):
    folder = copied_run.write(tmp_path / "run", {10: [100]}, trajectory=text, **more)
    return trajectories(report.load(folder))


def test_a_course_is_read_with_its_rate_before_and_after_it_settled(tmp_path):
    text = " ".join(f"{at}:{100 if at <= 10 else 500}:8:{50 if at <= 10 else 0}" for at in range(1, 21))
    [trajectory] = course_of(tmp_path, text)
    assert trajectory.rate_from(0) == (300, 500 / 6500)
    assert trajectory.rate_from(10) == (500, 0)
    assert trajectory.rate_from(30) is None
    assert trajectory.slowdowns == 500


def test_a_coarser_course_weighs_each_moment_by_its_length(tmp_path):
    [trajectory] = course_of(tmp_path, "1:100:8:0 11:200:8:0")
    assert trajectory.rate_from(0)[0] == pytest.approx(2100 / 11)


def test_the_last_moment_is_the_end_and_weighs_as_long_as_it_took(tmp_path):
    [trajectory] = course_of(tmp_path, "1:100:8:0 2:100:8:0 2:400:8:0", elapsed_seconds=2.25)
    assert trajectory.at_s[-1] == 2.25
    assert trajectory.rate_from(0)[0] == pytest.approx(300 / 2.25)


@pytest.mark.parametrize("text", ["", "1:100:8:0", "1:100:8 2:100:8", "a:b:c:d 1:2:3:4", "1:nan:8:0 2:1:1:1", None])
def test_what_is_no_course_is_left_out(tmp_path, text):
    assert course_of(tmp_path, text) == []


def test_the_median_operation_stands_for_its_cell(tmp_path):
    folder = copied_run.write(tmp_path / "run", {10: [50, 100, 400, 90, 110]})
    [trajectory] = trajectories(report.load(folder))
    assert trajectory.seq == 1
    assert isinstance(trajectory.at_s, np.ndarray)


def test_a_message_that_is_no_work_order_has_a_course_without_a_number(tmp_path):
    folder = copied_run.write(tmp_path / "run", {10: [50]})
    copied_run.save(folder, [record | {"seq": "first"} for record in copied_run.records(folder)])
    assert [trajectory.seq for trajectory in trajectories(report.load(folder))] == [None]
    assert "The median copy run of each cell" in page(folder).text


def test_the_guide_s_limit_is_a_line_only_on_aws(tmp_path):
    for target, there in (("aws", True), ("local", False)):
        folder = copied_run.write(tmp_path / target, {10: [100, 90]}, target=target)
        assert ("S3’s guide promises at least 3,500" in page(folder).text) is there


def test_a_run_of_other_operations_has_no_such_sections(built_run):
    ids = Page((built_run() / "report.html").read_text()).ids
    assert not {"knee", "rate", "objects"} & set(ids)
