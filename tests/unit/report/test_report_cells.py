"""cells.csv: the header, every digit, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.download.declaration import DOWNLOAD
from stampede.runs import cells
from stampede.runs.spread import spread
from stampede.tables import number_text
from tests.unit.report.handmade_run import key

ROW = {
    "memory_size_mb": 1024,
    "concurrency": 5,
    "count": 50,
    "min_s": 0.1,
    "p25_s": 12.380369424819946,
    "avg_s": 0.30000000000000004,
    "p75_s": 14.0,
    "max_s": 0.00001,
    "method": "ranges",
    "sink": "tmp",
    "mbit_per_s": 682.25,
    "cpu_s_per_gib": 0.28,
    "retries": 3,
}
PUBLISHED = {name: ROW[name] for name in cells.published_columns(DOWNLOAD)}


def test_the_header_begins_with_the_published_columns():
    published = "memory_size_mb,concurrency,count,min_s,p25_s,avg_s,p75_s,max_s"
    assert cells.to_csv([], DOWNLOAD) == f"{published},method,sink,mbit_per_s,cpu_s_per_gib,retries\n"


def test_every_digit_is_kept_and_no_exponent_is_written():
    line = cells.to_csv([ROW], DOWNLOAD).splitlines()[1]
    assert line == "1024,5,50,0.1,12.380369424819946,0.30000000000000004,14,0.00001,ranges,tmp,682.25,0.28,3"


def test_a_row_that_only_has_the_published_columns_is_of_the_published_method():
    line = cells.to_csv([PUBLISHED], DOWNLOAD).splitlines()[1]
    assert line.endswith(",0.00001,download_file,tmp,,,")


def test_a_file_of_the_published_columns_is_read(tmp_path):
    path = tmp_path / "cells.csv"
    path.write_text("memory_size_mb,concurrency,count,min_s,p25_s,avg_s,p75_s,max_s\n1024,5,50,1,2,3,4,5\n")
    [row] = cells.read(path, DOWNLOAD)
    assert (row["max_s"], row["method"], row["sink"], row["retries"]) == (5.0, "download_file", "tmp", None)


@pytest.mark.parametrize("name", ["mbit_per_s", "cpu_s_per_gib", "retries"])
def test_what_no_record_says_is_empty_and_reads_back_as_nothing(tmp_path, name):
    path = tmp_path / "cells.csv"
    path.write_text(cells.to_csv([ROW | {name: None}], DOWNLOAD))
    assert cells.read(path, DOWNLOAD) == [ROW | {name: None}]


def test_rows_keep_the_order_of_the_query():
    second_row = ROW | {"memory_size_mb": 512}
    assert [line[:4] for line in cells.to_csv([ROW, second_row], DOWNLOAD).splitlines()[1:]] == ["1024", "512,"]


@given(st.floats(min_value=0, max_value=1e9))
def test_a_number_reads_back_as_itself(value):
    assert float(number_text(value)) == value
    assert "e" not in number_text(value)


def test_what_is_written_reads_back(tmp_path):
    path = tmp_path / "cells.csv"
    path.write_text(cells.to_csv([ROW], DOWNLOAD))
    assert cells.read(path, DOWNLOAD) == [ROW]


def test_text_values_as_the_service_returns_them_become_numbers():
    row = cells.checked({name: str(value) for name, value in ROW.items()}, DOWNLOAD)
    assert row == ROW
    assert type(row["count"]) is int


def test_a_row_without_a_column_is_refused_by_name():
    with pytest.raises(cells.CellsError, match="no column p75_s"):
        cells.to_csv([{name: value for name, value in ROW.items() if name != "p75_s"}], DOWNLOAD)


@pytest.mark.parametrize("value", [None, "fast", float("nan"), float("inf")])
def test_a_value_that_is_no_number_is_refused(value):
    with pytest.raises(cells.CellsError, match="avg_s="):
        cells.to_csv([ROW | {"avg_s": value}], DOWNLOAD)


def test_a_fractional_count_is_refused():
    with pytest.raises(cells.CellsError, match=r"count=2\.5; it must be a whole number"):
        cells.to_csv([ROW | {"count": 2.5}], DOWNLOAD)


def test_a_file_with_another_header_is_refused(tmp_path):
    path = tmp_path / "cells.csv"
    path.write_text("memory,concurrency\n1,2\n")
    with pytest.raises(cells.CellsError, match=r"cells\.csv starts with other columns"):
        cells.read(path, DOWNLOAD)


def test_rows_from_spreads_are_sorted_by_memory_and_concurrency():
    keys = [key(2048, 1), key(1024, 10), key(1024, 5, "stream", "discard"), key(1024, 5, "crt")]
    rows = cells.from_counted({cell_key: spread([1.0]) for cell_key in keys}, {keys[3]: {"cpu_s_per_gib": 0.9}})
    named = [(row["memory_size_mb"], row["concurrency"], row["method"], row["sink"]) for row in rows]
    assert named == [
        (1024, 5, "crt", "tmp"),
        (1024, 5, "stream", "discard"),
        (1024, 10, "download_file", "tmp"),
        (2048, 1, "download_file", "tmp"),
    ]
    assert [row.get("cpu_s_per_gib") for row in rows] == [0.9, None, None, None]
