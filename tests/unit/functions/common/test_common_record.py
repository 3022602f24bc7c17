"""The record as a line, and the words for what went wrong."""

import json
from pathlib import Path

import pytest

from common.describing import describe
from common.environment import SettingsError
from common.failures import Failure
from common.record import format_record, write_record

AGREED = Path(__file__).parents[4] / "functions" / "agreed"


@pytest.mark.parametrize("seconds", [float("nan"), float("inf")])
def test_a_number_that_is_not_finite_is_never_written(seconds):
    with pytest.raises(ValueError, match="finite"):
        format_record({"download_time_seconds": seconds})


def test_a_record_is_one_write_of_one_line(monkeypatch):
    calls = []

    class Log:
        def write(self, text):
            calls.append(text)

        def flush(self):
            calls.append("flushed")

    monkeypatch.setattr("sys.stdout", Log())
    write_record({"a": 1, "b": "two\nlines"})
    assert calls == ['{"a": 1, "b": "two\\nlines"}\n', "flushed"]


def test_every_failure_of_our_own_is_in_the_vocabulary():
    own = {subclass.__name__ for subclass in Failure.__subclasses__()}
    assert own >= {"WorkOrderError", "SettingsError", "DeadlineExceeded", "SizeMismatch"}
    assert own <= set(json.loads((AGREED / "failures.json").read_text()))


def test_an_error_that_nobody_thought_of_keeps_its_name_in_the_message():
    assert describe(ZeroDivisionError("division by zero")) == (
        "UnexpectedError",
        "ZeroDivisionError: division by zero",
    )


def test_a_settings_error_is_described_by_its_own_line():
    assert describe(SettingsError("MEMORY_SIZE is missing")) == ("SettingsError", "MEMORY_SIZE is missing")
