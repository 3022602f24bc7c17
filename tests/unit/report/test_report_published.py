"""The published figures are there, whole, and found where the package is installed."""

import pytest

from report import published


def test_every_named_table_has_rows():
    assert {name: len(published.rows(name)) for name in published.NAMES} == {
        "copy_host_cli": 2,
        "copy_host_rate": 7,
        "copy_host_retries": 6,
        "copy_lambda": 8,
        "download": 12,
        "express": 8,
        "filesystem_large": 7,
        "filesystem_small": 6,
    }


def test_the_published_matrix_is_six_concurrencies_by_two_memory_sizes():
    assert set(published.download()) == {(m, n) for m in (1024, 2048) for n in (1, 5, 10, 50, 100, 500)}


def test_a_published_row_has_its_published_figures():
    row = published.download()[2048, 500]
    assert (row.min_s, row.p25_s, row.avg_s, row.p75_s, row.max_s) == (11.00, 12.45, 13.21, 13.84, 14.25)


def test_published_figures_are_in_order_within_a_row():
    for row in published.download().values():
        assert row.min_s <= row.p25_s <= row.avg_s <= row.p75_s <= row.max_s


def test_an_unknown_table_is_refused_with_the_names_that_there_are():
    with pytest.raises(KeyError, match="filesystem_small"):
        published.rows("uploads")
