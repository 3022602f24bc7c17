"""The table that a bench run prints."""

import io

import pytest
from rich.console import Console

from bench.measure import Entry
from bench.table import figure, print_entries


def test_the_table_shows_both_sides_the_ratio_and_what_it_was_measured_on():
    out = io.StringIO()
    entry = Entry("flood_latency_15ms", 13_061.4, 512.25, "messages/s", 25.498, 5)
    print_entries([entry], ["machine: [2 cores]"], Console(file=out, width=120, soft_wrap=True))
    [row] = [line for line in out.getvalue().splitlines() if "flood_latency_15ms" in line]
    assert [cell.strip() for cell in row.strip("│").split("│")] == [
        "flood_latency_15ms",
        "13,061",
        "512",
        "messages/s",
        "25.50 x",
        "5",
    ]
    assert out.getvalue().splitlines()[-1] == "machine: [2 cores]"


@pytest.mark.parametrize(
    ("value", "text"), [(0.01234, "0.0123"), (1.234, "1.23"), (99.94, "99.9"), (123.4, "123"), (12345.6, "12,346")]
)
def test_figures_keep_three_significant_digits(value, text):
    assert figure(value) == text
