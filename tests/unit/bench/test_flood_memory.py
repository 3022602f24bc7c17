"""The memory figures count only when every message has its line and its record."""

import pytest

from bench import flood_memory
from bench.errors import BenchError
from bench.flood import CELL, run_folder


def run_of(folder, count):
    folder.append("sent.jsonl", [{"cell": CELL, "seq": seq} for seq in range(count)])


def test_a_whole_run_is_accounted_for():
    with run_folder() as folder:
        run_of(folder, 25)
        assert flood_memory._write_records(folder) == 25
        flood_memory.account_once(str(folder.path), 25)


def test_a_run_with_a_message_without_a_record_is_no_measurement():
    with run_folder() as folder:
        run_of(folder, 25)
        flood_memory._write_records(folder)
        run_of(folder, 26)
        with pytest.raises(BenchError, match=r"26 sent = 25 succeeded .* 1 UNACCOUNTED"):
            flood_memory.account_once(str(folder.path), 26)
