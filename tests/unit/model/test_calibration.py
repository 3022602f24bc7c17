"""The model beside what was published: docs/simulate.md says what it says today, and it reaches what it should."""

import pytest

from tests.calibration import DOCUMENT, compared, document


def test_the_page_about_the_model_is_up_to_date():
    text = DOCUMENT.read_text(encoding="utf-8")
    assert document(text) == text, "run python -m tests.calibration"


@pytest.mark.parametrize(("experiment", "within"), [("download", 0.05), ("filesystem", 0.15)])
def test_every_published_mean_is_met(experiment, within):
    rows = [row for _, table in compared(experiment) for row in table]
    assert len(rows) >= 12
    assert [row for row in rows if abs(row.difference) > within] == []


def test_a_page_without_a_place_for_the_table_is_refused():
    with pytest.raises(ValueError, match="put <!-- published --> and <!-- end of published --> there"):
        document("# The model\n")
