"""The published figures are there, whole."""

from itertools import product

from experiments.copy.declaration import COPY
from experiments.download.declaration import DOWNLOAD
from experiments.express.declaration import EXPRESS
from experiments.filesystem.declaration import FILESYSTEM
from stampede.cell import Cell
from stampede.checkout import ROOT
from stampede.report import published
from tests.unit.report.handmade_run import key


def test_every_table_has_rows():
    tables = (ROOT / "experiments").glob("*/published/*.csv")
    assert {path.stem: len(published.rows(path.stem)) for path in tables} == {
        "copy_host_cli": 2,
        "copy_host_rate": 18,
        "copy_host_retries": 6,
        "copy_lambda": 8,
        "download": 12,
        "express": 8,
        "filesystem_large": 7,
        "filesystem_small": 6,
    }


def test_the_published_matrix_is_six_concurrencies_by_two_memory_sizes_of_the_published_method():
    assert set(published.table(DOWNLOAD)) == {key(m, n) for m in (1024, 2048) for n in (1, 5, 10, 50, 100, 500)}


def test_a_published_row_has_its_published_figures():
    table, row = published.table(DOWNLOAD)[key(2048, 500)]
    assert list(row.values()) == [11.00, 12.45, 13.21, 13.84, 14.25]
    assert table.label == "AWS, published 2025"


def test_a_published_row_beside_a_run_of_fewer_objects_says_how_many_its_own_seconds_are_of():
    their = published.every_cell(COPY)[0]
    ours = Cell.of_figures(COPY.axes, their.key.figures() | {"object_count": 50})
    assert their.stands_beside(ours) and their.row_beside(ours)["object_count"] == 1000


def test_published_figures_are_in_order_within_a_row():
    for _, row in published.table(DOWNLOAD).values():
        assert row["min_s"] <= row["p25_s"] <= row["avg_s"] <= row["p75_s"] <= row["max_s"]


def test_the_published_mean_of_efs_from_its_cache_stands_beside_repeats_and_the_other_beside_first_reads():
    times = {
        (key["storage"], key["dataset"], key["memory_size_mb"], key["read"]): row["avg_s"]
        for key, (_, row) in published.table(FILESYSTEM).items()
    }
    assert len(times) == 13
    assert times["efs", "large", 3008, "repeat"] == 3.04
    assert times["efs", "large", 3008, "first"] == 17.87
    assert times["efs", "small", 3008, "first"] == 2.71


def test_every_published_case_of_the_classes_stands_beside_a_cell_with_the_objects_that_its_seconds_are_of():
    seconds, objects = {}, {}
    for operation, size in product(("upload", "download", "count"), (10_000, 100_000_000)):
        for kind in ("standard", "express"):
            ours = Cell.at(EXPRESS.axes, (operation, kind, size, 1, 50, 1, "any_zone", 2048, 1))
            [theirs] = [cell for cell in published.every_cell(EXPRESS) if cell.stands_beside(ours)]
            seconds.setdefault((operation, size), []).append(theirs.figures["avg_s"])
            objects.setdefault((operation, size), set()).add(theirs.row_beside(ours)["object_count"])
    assert seconds == {
        ("upload", 10_000): [849.47, 197.89],
        ("upload", 100_000_000): [84.88, 67.89],
        ("download", 10_000): [1411.23, 382.24],
        ("download", 100_000_000): [79.77, 79.81],
        ("count", 10_000): [75.91, 52.30],
        ("count", 100_000_000): [2.59, 2.24],
    }
    small = {("upload", 10_000): {77_577}, ("download", 10_000): {77_577}, ("count", 10_000): {700_000}}
    assert objects == small | {(operation, 100_000_000): {100} for operation in ("upload", "download", "count")}
