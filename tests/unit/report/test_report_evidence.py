"""What a run on AWS showed of Stampede's assumptions, in its report."""

import json

import pytest

from stampede import report
from tests.unit.report import handmade_run
from tests.unit.report.page_parser import Page

WRONG = {"id": "logs-late", "held": 0, "contradicted": 1, "values": {"latest_s": 1700.5, "odd": {"a": 1}}}
HELD = {"id": "clocks", "held": 12, "contradicted": 0, "values": {}}


@pytest.fixture
def page(tmp_path):
    """The page of a run with this evidence.json, which may be damaged; None: without one."""

    def build(text):
        folder = handmade_run.write(tmp_path / "run", [handmade_run.record(0, 500)])
        if text is not None:
            (folder / "evidence.json").write_text(text)
        report.build(folder)
        verdict = json.loads((folder / "statistics.json").read_text())["verdict"]
        return Page((folder / "report.html").read_text()), verdict["caveats"]

    return build


def test_what_is_contradicted_stands_at_the_top_and_every_check_in_the_section(page):
    built_page, caveats = page(json.dumps({"target": "aws", "checks": [WRONG, HELD, {"id": "of another version"}]}))
    words = "This run contradicts what Stampede assumes of AWS: a log line is shown within 10 minutes."
    assert [caveat for caveat in caveats if caveat.startswith(words)]
    assert "evidence" in built_page.ids and built_page.faults == []
    assert "latest 1,700.5 s, odd unknown" in built_page.text and "not met" in built_page.text
    assert "of another version" not in built_page.text


@pytest.mark.parametrize(
    "text", [None, "{half", "[]", '{"lines": {}}', '{"checks": 3}', json.dumps({"checks": [HELD]})]
)
def test_without_a_contradiction_nothing_is_said_at_the_top(page, text):
    built_page, caveats = page(text)
    assert not [caveat for caveat in caveats if "assumes of AWS" in caveat]
    assert ("evidence" in built_page.ids) == (text is not None and "checks" in text)
