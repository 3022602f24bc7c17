"""Runs of one plan over time: where a cell changed against the first run, and what has no history."""

import base64
import csv
import json
import re

import pytest

from experiments import EXPERIMENTS
from stampede.report.over_time import history
from stampede.report.run import NoReport
from tests.contract import synthetic
from tests.contract.pages import page_of, text_of
from tests.unit.report import handmade_run
from tests.unit.report.handmade_run import lasting

pytestmark = pytest.mark.usefixtures("unpainted")
SECONDS = [0.1 + at / 1000 for at in range(12)]
DAY_MS = 86_400_000


def run_of(folder, day, factors, **changes):
    """Twelve downloads with each N, `factors` times as long, on a day."""
    records = [row for n, factor in factors.items() for row in lasting([factor * s for s in SECONDS], n=n, **changes)]
    for row in records:
        row["started_at_ms"] += day * DAY_MS
        row["finished_at_ms"] += day * DAY_MS
    return handmade_run.write(folder, records, run_id=folder.name)


@pytest.fixture
def days(tmp_path):
    """Five days of two cells, of which that with N = 2 slows down on the third; in no order."""
    slow = {1: 1.0, 2: 1.0}, {1: 1.01, 2: 0.99}, {1: 0.98, 2: 1.4}, {1: 1.0, 2: 1.42}, {1: 1.0, 2: 1.41}
    folders = [
        run_of(tmp_path / f"day{day}", day, factors, sdk=f"botocore 1.{day // 3}")
        for day, factors in enumerate(slow, 1)
    ]
    return [folders[at] for at in (2, 0, 4, 1, 3)]


def test_the_run_from_which_on_a_cell_is_slower_is_named(days, tmp_path):
    made = history(days, tmp_path)
    assert re.match(r"N = 2: slower since day3, 0\.71 times .* first of 5 runs \(95 % CI 0\.6", made.headline), (
        made.headline
    )
    assert made.slower == ["N = 2"]
    assert any("botocore 1.1 from day3 on" in text for text in made.warnings)
    page = page_of(tmp_path, "history.html")
    rows = [[text_of(cell) for cell in row] for row in page.iter("tr")]
    assert [row[1] for row in rows if row[0] == "2"] == list("12345")
    assert ["▼" in row[-1] for row in rows if row[0] == "2"] == [False, False, True, True, True]
    [table] = re.findall(r"base64,([^\"]+)", (tmp_path / "history.html").read_text())[:1]
    stored = list(csv.DictReader(base64.b64decode(table).decode().splitlines()))
    assert {row["run_id"] for row in stored} == {f"day{day}" for day in range(1, 6)} and len(stored) == 10


def test_a_run_repeated_without_a_change_claims_none(tmp_path):
    folders = [run_of(tmp_path / f"day{day}", day, {1: 1.0, 2: 1.0}) for day in range(4)]
    made = history(folders, tmp_path / "own.html")
    assert made.page == tmp_path / "own.html" and made.slower == []
    assert made.headline == "No change above 10 % in 2 cells over 4 runs."


def test_what_came_back_is_no_longer_slower(tmp_path):
    folders = [run_of(tmp_path / f"day{day}", day, {1: factor}) for day, factor in enumerate((1.0, 1.5, 1.0))]
    assert history(folders, tmp_path).slower == []


def test_what_has_no_common_history_is_refused(days, tmp_path):
    copies = synthetic.write(tmp_path / "copies", EXPERIMENTS["copy"], ["parallel_limit=1"])
    elsewhere = run_of(tmp_path / "elsewhere", 9, {1: 1.0})
    manifest = json.loads((elsewhere / "run.json").read_text())
    (elsewhere / "run.json").write_text(json.dumps(manifest | {"target": "local"}))
    alone = run_of(tmp_path / "alone", 8, {7: 1.0})
    for folders, words in (
        ([*days, copies], "several experiments"),
        ([*days, elsewhere], "several targets"),
        ([*days, days[0]], "given twice"),
        ([days[0], alone], "no two of these runs"),
    ):
        with pytest.raises(NoReport, match=words):
            history(folders, tmp_path)
    assert not (tmp_path / "history.html").exists()
