"""Two runs compared, and three or more over time: differences in speed, and other differences."""

import base64
import csv
import re
import shutil

import pytest

from experiments import EXPERIMENTS
from stampede.report.compare_runs import compare
from stampede.report.over_time import history
from stampede.report.run import NoReport
from tests.contract import synthetic
from tests.contract.pages import page_of, text_of
from tests.unit.report import handmade_run
from tests.unit.report.handmade_run import lasting

pytestmark = pytest.mark.usefixtures("unpainted")
SECONDS = [0.1 + at / 1000 for at in range(12)]
DAY_MS = 86_400_000


@pytest.fixture
def run_of(tmp_path):
    """Twelve downloads with each N of `factors`, that many times as long, on a day; `manifest` is
    added to run.json."""

    def write(name, factors, day=0, manifest=None, **changes):
        records = [
            row
            for n, factor in factors.items()
            for row in lasting([factor * s for s in SECONDS], n=n, **changes)
        ]
        for row in records:
            row["started_at_ms"] += day * DAY_MS
            row["finished_at_ms"] += day * DAY_MS
        return handmade_run.write(tmp_path / name, records, run_id=name, **(manifest or {}))

    return write


def rows_of(page):
    return [[text_of(cell) for cell in row] for row in page.iter("tr")]


def test_the_page_has_each_common_cell_of_both_and_their_ratio_of_speeds(run_of, tmp_path):
    compared = compare([run_of("one", {1: 1, 2: 1}), run_of("two", {1: 2, 3: 2})], tmp_path)
    assert re.match(
        r"B is slower than A in the only common cell: 0\.50 times .* CI 0\.4", compared.headline
    )
    assert compared.differences == [] and len(compared.warnings) == 2
    page = page_of(tmp_path, "comparison.html")
    measured = [row[:3] for row in rows_of(page) if row[0].isdigit()]
    assert measured == [
        ["1", "A", "0.106"],
        ["1", "B", "0.211"],
        ["2", "A", "0.106"],
        ["3", "B", "0.211"],
    ]
    assert "interleaved" in text_of(page)
    [ratio] = [row for row in rows_of(page) if "slower" in row[-1]]
    assert "0.50" in ratio


def test_of_several_cells_the_clearest_has_its_own_interval(run_of, tmp_path):
    runs = [run_of("one", {1: 1, 2: 1}), run_of("two", {1: 1.05, 2: 2})]
    headline = compare(runs, tmp_path).headline
    assert "slower in 1" in headline and "0.50 to 0.95 times" in headline
    low, high = map(float, re.search(r"0\.50 .*CI (\S+) to (\S+)\).* N = 2", headline).groups())
    assert 0.4 < low < high < 0.6


def test_a_run_that_lost_messages_is_not_faster_than_one_that_lost_none(run_of, tmp_path):
    records = [*lasting([at / 2 for at in SECONDS], n=1), handmade_run.error(0, 1, n=1, seq=99)]
    lossy = handmade_run.write(tmp_path / "two", records, run_id="two")
    compared = compare([run_of("one", {1: 1}), lossy], tmp_path)
    assert "one lost more messages" in compared.headline
    assert "B: 1 of 13 messages" in text_of(page_of(tmp_path, "comparison.html"))


def test_a_run_compared_with_its_copy_claims_nothing(run_of, tmp_path):
    one = run_of("one", {1: 1})
    compared = compare([one, shutil.copytree(one, tmp_path / "two")], tmp_path)
    low, high = map(float, re.search(r"CI (\S+) to (\S+)\)", compared.headline).groups())
    assert (
        low < 1 < high
        and "1.00 times" in compared.headline
        and "the same run" in compared.warnings[-1]
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"bytes": 5}, "976.6 KiB against 5 bytes"),
        ({"manifest": {"target": "local"}}, "AWS, us-east-1 and this machine"),
        ({"sdk": "botocore 2.0"}, "botocore 1.0 and 2.0"),
    ],
)
def test_differences_between_runs_are_named(run_of, tmp_path, changes, words):
    runs = [
        run_of("one", {1: 1}, sdk="botocore 1.0"),
        run_of("two", {1: 1}, **{"sdk": "botocore 1.0"} | changes),
    ]
    compared = compare(runs, tmp_path)
    [difference] = compared.differences
    assert words in difference and words in text_of(page_of(tmp_path, "comparison.html"))
    assert ("Nothing can be compared" in compared.headline) == ("bytes" in changes)


SLOWER = [
    {1: 1.0, 2: 1.0},
    {1: 1.01, 2: 0.99},
    {1: 0.98, 2: 1.4},
    {1: 1.0, 2: 1.42},
    {1: 1.0, 2: 1.41},
]


def test_the_run_from_which_on_a_cell_is_slower_is_named(run_of, tmp_path):
    days = [
        run_of(f"day{day}", factors, day, sdk=f"botocore 1.{day // 3}")
        for day, factors in enumerate(SLOWER, 1)
    ]
    made = history([days[at] for at in (2, 0, 4, 1, 3)], tmp_path)
    assert re.match(
        r"N = 2: slower since day3, 0\.71 times .* of 5 runs \(95 % CI 0\.6", made.headline
    )
    assert made.slower == ["N = 2"] and any(
        "botocore 1.1 from day3" in text for text in made.warnings
    )
    rows = [row for row in rows_of(page_of(tmp_path, "history.html")) if row[0] == "2"]
    assert [row[1] for row in rows] == list("12345")
    assert ["▼" in row[-1] for row in rows] == [False, False, True, True, True]
    [table, *_] = re.findall(r"base64,([^\"]+)", (tmp_path / "history.html").read_text())
    stored = list(csv.DictReader(base64.b64decode(table).decode().splitlines()))
    assert {row["run_id"] for row in stored} == {day.name for day in days} and len(stored) == 10


@pytest.mark.parametrize("factors", [(1.0, 1.0, 1.0, 1.0), (1.0, 1.5, 1.0)])
def test_unchanged_and_recovered_runs_are_not_slower(run_of, tmp_path, factors):
    folders = [run_of(f"day{day}", {1: factor}, day) for day, factor in enumerate(factors)]
    made = history(folders, tmp_path / "own.html")
    assert (made.page, made.slower) == (tmp_path / "own.html", [])
    assert made.headline == f"No change above 10 % in 1 cell over {len(factors)} runs."


def test_runs_that_cannot_be_compared_are_refused(run_of, tmp_path):
    one, alone = run_of("one", {1: 1}), run_of("alone", {7: 1}, 8)
    copies = synthetic.write(tmp_path / "copies", EXPERIMENTS["copy"], ["parallel_limit=1"])
    elsewhere = run_of("elsewhere", {1: 1}, 9, {"target": "local"})
    for make, folders, words in (
        (compare, [one], "name two"),
        (compare, [one, copies], "runs of download and copy"),
        (history, [one, one, copies], "several experiments"),
        (history, [one, one, elsewhere], "several targets"),
        (history, [one, alone, one], "given twice"),
        (history, [one, alone], "no two of these runs"),
    ):
        with pytest.raises(NoReport, match=words):
            make(folders, tmp_path)
    assert not [*tmp_path.glob("*.html")]
