"""`stampede simulate --bandwidth-quota`: what a network gives with the quota, and where it has no meaning."""

import json

import pytest

from stampede.cli.command_line import main

LARGE = ("simulate", "download", "--set", "concurrency_value=2", "--set", "method=go_ranges")


def average_s(capsys, *more):
    """The predicted mean of the one cell."""
    assert main([*LARGE, "--format", "json", *more]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    return row["avg_s"]


@pytest.mark.parametrize(("memory_mb", "sustained_mbit_per_s"), [(10240, 3000), (6144, 1812.5)])
def test_a_gibibyte_takes_what_the_quota_gives_at_that_memory_after_the_burst(capsys, memory_mb, sustained_mbit_per_s):
    least_s = (2**30 - 300 * 2**20) * 8 / (sustained_mbit_per_s * 1e6)
    assert least_s < average_s(capsys, "--set", f"memory_size={memory_mb}", "--bandwidth-quota") < least_s * 1.45


def test_without_the_quota_memory_changes_nothing(capsys):
    assert average_s(capsys, "--set", "memory_size=10240") == average_s(capsys, "--set", "memory_size=2048")
