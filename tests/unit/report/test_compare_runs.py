"""Two runs against each other: what differs in speed, and what makes them different."""

import json
import re
import shutil

import pytest

from experiments import EXPERIMENTS
from stampede.report.compare_runs import compare
from stampede.report.run import NoReport
from tests.contract import synthetic
from tests.contract.pages import page_of, text_of
from tests.unit.report import handmade_run
from tests.unit.report.handmade_run import lasting

pytestmark = pytest.mark.usefixtures("unpainted")
SECONDS = [0.1 + at / 1000 for at in range(12)]


def run_of(folder, factor=1.0, n=2, **changes):
    """Twelve downloads of each of two cells."""
    records = [row for at in (1, n) for row in lasting([factor * each for each in SECONDS], n=at, **changes)]
    return handmade_run.write(folder, records, run_id=folder.name)


@pytest.fixture
def base(tmp_path):
    return run_of(tmp_path / "one", sdk="botocore 1.0")


def test_the_page_has_each_common_cell_of_both_and_their_ratio_of_speeds(base, tmp_path):
    compared = compare([base, run_of(tmp_path / "two", factor=2.0, n=3)], tmp_path)
    assert re.match(r"B is slower than A in the only common cell: 0\.50 times .* CI 0\.4", compared.headline)
    assert compared.differences == [] and ["accounting.json" in text for text in compared.warnings] == [True] * 2
    page = page_of(tmp_path, "comparison.html")
    rows = [[text_of(cell) for cell in row] for row in page.iter("tr")]
    measured = [row[:3] for row in rows if row[0].isdigit()]
    assert measured == [["1", "A", "0.106"], ["1", "B", "0.211"], ["2", "A", "0.106"], ["3", "B", "0.211"]]
    assert "weren’t interleaved" in text_of(page)


def test_a_run_beside_its_copy_claims_nothing(base, tmp_path):
    compared = compare([base, shutil.copytree(base, tmp_path / "two")], tmp_path)
    low, high = map(float, re.search(r"CI (\S+) to (\S+)\)", compared.headline).groups())
    assert low < 1 < high and "1.00 times" in compared.headline
    assert "the same run" in compared.warnings[-1]


@pytest.mark.parametrize(
    ("changes", "target", "words"),
    [
        ({"bytes": 5}, "aws", "Different sizes: 976.6 KiB against 5 bytes"),
        ({}, "local", "Different targets: AWS, us-east-1 and this machine"),
        ({"sdk": "botocore 2.0"}, "aws", "Different versions of an SDK: botocore 1.0 and 2.0"),
    ],
)
def test_what_the_runs_do_not_have_in_common_is_said(base, tmp_path, changes, target, words):
    other = run_of(tmp_path / "two", **{"sdk": "botocore 1.0"} | changes)
    manifest = json.loads((other / "run.json").read_text())
    (other / "run.json").write_text(json.dumps(manifest | {"target": target}))
    compared = compare([base, other], tmp_path)
    [difference] = compared.differences
    assert words in difference and words in text_of(page_of(tmp_path, "comparison.html"))
    assert ("Nothing can be compared" in compared.headline) == ("bytes" in changes)


def test_what_is_no_pair_of_runs_is_refused(base, tmp_path):
    copies = synthetic.write(tmp_path / "copies", EXPERIMENTS["copy"], ["parallel_limit=1"])
    for runs, words in (([base], "name two"), ([base, copies], "runs of download and copy")):
        with pytest.raises(NoReport, match=words):
            compare(runs, tmp_path)
    assert not (tmp_path / "comparison.html").exists()
