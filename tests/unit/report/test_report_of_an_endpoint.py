"""A run at an endpoint in AWS's stead: whatever tells its figures says so, and nothing calls them AWS's."""

import pytest

from stampede.report import compare, run, statistics, table
from stampede.report.compare_runs import Pair, Side, differences
from stampede.report.sections import Page, about, throughput
from stampede.report.summary import summarised
from tests.unit.report.handmade_run import lasting, table_of, write

URL = "http://127.0.0.1:4566"
ENDPOINT = f"an endpoint at {URL}"


@pytest.fixture
def written(tmp_path):
    def make(name="at", **manifest):
        seconds = [1 + part / 100 for part in range(12)]
        records = lasting(seconds, bytes=2**30) + lasting(seconds, n=5, bytes=2**30)
        return write(tmp_path / name, records, **{"target": "endpoint", "endpoint_url": URL} | manifest)

    return make


def page_of(loaded):
    return Page(loaded, statistics.statistics(loaded), summarised(loaded), table_of(loaded))


def test_every_row_of_the_table_names_the_endpoint_and_the_caption_says_whose_figures_they_are(written):
    labelled_table = table_of(run.load(written()))
    assert {row.source for row in labelled_table.rows if row.measured} == {ENDPOINT}
    [whose] = [text for text in labelled_table.caption if text.startswith(f"Rows marked “{ENDPOINT}” were measured")]
    assert "they aren’t AWS’s figures" in whose
    assert f"| {ENDPOINT} |" in table.to_markdown(labelled_table)


def test_the_verdict_the_headline_and_the_file_of_numbers_say_it(written):
    numbers = statistics.statistics(run.load(written()))
    assert numbers["target"] == "endpoint"
    assert numbers["verdict"]["headline"].startswith(f"On {ENDPOINT}, ")
    assert numbers["verdict"]["caveats"][0] == f"These figures describe {ENDPOINT}, not AWS."


def test_the_page_says_where_it_was_measured(written):
    loaded = run.load(written())
    targets = [text for label, text in about.environment_lines(loaded) if label == "target"]
    assert targets == [ENDPOINT]  # and not what --target was


def test_no_published_speed_is_drawn_beside_it_as_its_like(written):
    page, on_aws = page_of(run.load(written())), page_of(run.load(written("b", target="aws", endpoint_url=None)))
    assert throughput._like_published(page) == {}
    assert throughput._like_published(on_aws) != {}


def test_an_endpoint_for_some_services_names_them(written):
    loaded = run.load(written(endpoint_services={"s3": URL}))
    assert loaded.source == f"{ENDPOINT} (for s3 only; everything else is AWS)"
    both = run.load(written("b", endpoint_services={"s3": "http://other", "sqs": URL}))
    assert both.source == f"{ENDPOINT}, s3 at http://other"


def test_a_comparison_with_aws_names_both_places_first(written, tmp_path):
    here, there = written(), written("b", target="aws", endpoint_url=None, account={"region": "us-east-1"})
    sides = [Side(letter, run.load(path), {}) for letter, path in (("A", there), ("B", here))]
    assert differences(Pair(*sides, {}))[0].startswith(f"Different targets: AWS, us-east-1 and {ENDPOINT}.")
    assert ENDPOINT in compare([there, here], tmp_path / "c.html").read_text()


def test_a_run_json_without_the_url_still_reads(written):
    assert run.load(written(endpoint_url=None)).source == "an endpoint at an unknown URL"
