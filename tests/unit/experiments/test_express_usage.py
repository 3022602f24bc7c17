"""What a cell of the storage classes takes, against sums done by hand from the published set-up and the prices."""

import csv

import pytest

from experiments.express.declaration import EXPRESS
from experiments.express.usage import tariffs, usage
from stampede.cell import Cell
from stampede.checkout import ROOT
from stampede.planning.cost.bill import bill_items
from stampede.planning.cost.durations import around_s, cell_s
from stampede.planning.cost.prices import read_prices
from stampede.planning.demand import Demand
from tests.unit.plans import values

GETS = 13_709_261
GIB, TIB = 2**30, 2**40
SMALL, LARGE = {"object_count": 77_577}, {"object_bytes": 100_000_000, "object_count": 100}
SMALL_GB, LARGE_GB, QUERIED_GB = 77_577 * 10_000 / GIB, 1e10 / GIB, 7e9 / GIB
COUNT = {"operation": "count", "object_count": 700_000}


def cell(operation, storage_class="standard", **changes):
    """As published but in one slice, one object after the other."""
    return values("express", operation=operation, storage_class=storage_class, **{"slices": 1} | changes)


@pytest.mark.parametrize(
    ("changes", "when", "quantities"),
    [
        (
            {"operation": "upload"},
            "each",
            {"s3_put": 77_577, "s3_transfer_gb": SMALL_GB},
        ),
        (
            {"operation": "upload", "storage_class": "express", "slices": 3},
            "each",
            {"express_put": 25_859, "express_upload_gb": SMALL_GB / 3},
        ),
        (
            {"operation": "download", "storage_class": "express"},
            "each",
            {"express_get": 77_577, "express_read_gb": SMALL_GB},
        ),
        # Its set is listed before, put once and kept by the hour.
        ({"operation": "download", "storage_class": "express"}, "per_hour", {"express_gb_month": SMALL_GB / 730}),
        (
            COUNT,
            "each",
            {"athena_tb": 7e9 / TIB, "s3_get": 700_000, "s3_put": 700, "s3_transfer_gb": QUERIED_GB},
        ),
    ],
)
def test_a_cell_is_billed_by_the_request_and_in_express_by_the_byte_too(changes, when, quantities):
    used = usage(cell(**changes))
    assert {use.price: getattr(use, when) for use in used.uses if getattr(use, when)} == pytest.approx(quantities)
    assert used.in_athena == (changes["operation"] == "count") == (not used.in_lambda)


def test_the_published_gets_cost_2_74_at_the_price_of_their_day_and_of_standard_0_08_less_than_the_table_says():
    day = read_prices("ap-northeast-1", "2023-12")
    standard, express = (GETS * day[name].usd for name in ("s3_get", "express_get"))
    with (ROOT / "experiments/express/published/express.csv").open() as lines:
        [row] = [row for row in csv.DictReader(lines) if row["case"] == f"GET requests for {GETS} objects"]
    assert float(row["express"]) == round(express, 2) == 2.74
    assert float(row["standard"]) - standard == pytest.approx(0.08, abs=0.005)  # where that comes from isn't known


def test_no_tariff_is_given_where_a_price_is_not_known():
    known = read_prices().known_usd
    assert tariffs(known)["express"].read_usd == 3e-8
    assert tariffs({name: usd for name, usd in known.items() if name != "express_read_gb"}) is None


# Many cells


def demand(operation, kind="standard", messages=10, working_s=0.0, start_s=0.0, **changes):
    own = cell(operation, kind, **changes)
    name = f"{operation} {kind} {own['object_bytes']}"
    of_plan = Cell(name, own, EXPRESS.axes, messages=messages)
    return Demand(of_plan, usage(own), working_s=working_s, start_s=start_s)


def bill(cells):
    return {(item.service, item.what): item for item in bill_items(cells, around_s(cells, "aws"), read_prices())}


def test_the_published_cases_cost_what_a_sum_by_hand_says():
    classes, worked = ("standard", "express"), {"working_s": 1000, "start_s": 1.0}
    cells = [
        demand(operation, kind, **size, **worked)
        for operation in ("upload", "download")
        for kind in classes
        for size in (SMALL | {"slices": 6, "messages": 60}, LARGE)
    ]
    cells += [demand(kind=kind, **COUNT | size) for kind in classes for size in ({}, LARGE)]
    moved, moved_gb = 10 * (77_577 + 100), 10 * (SMALL_GB + LARGE_GB)  # each of them ten times
    # Ten downloads of either set, and ten queries: a GET for each small object, two for a large one.
    gets, gets_gb = moved + 10 * (700_000 + 2 * 100), moved_gb + 10 * (QUERIED_GB + LARGE_GB)
    by_hand = {
        ("S3", "PUT"): moved * 0.000005,  # 3.88
        ("S3 Express", "PUT"): moved * 0.00000113,  # 0.88
        ("S3 Express", "bytes of PUT"): moved_gb * 0.0032,  # 0.32
        ("S3", "GET"): gets * 0.0000004,  # 3.11
        ("S3 Express", "GET"): gets * 0.00000003,
        ("S3 Express", "bytes of GET"): gets_gb * 0.0006,
        ("Athena", "scanned"): 2 * 10 * (7e9 + 1e10) / TIB * 5,  # 1.55
        # Three sets in each class: those that are downloaded, and the 700,000.
        ("S3", "PUT of the data sets"): (77_577 + 100 + 700_000) * 0.000005,  # 3.89
        # Before each cell that reads: 78 pages, 1, and 700 for each of two parts; then all again to delete them.
        ("S3", "LIST of the data sets"): ((78 + 1 + 2 * 700 + 1) + (78 + 1 + 700)) * 0.000005,
        # Each of eight cells of functions works 1,000 s, and begins with ten cold starts.
        ("Lambda", "compute, arm64"): 8 * (1000 + 10) * 2 * 0.0000133334,
    }
    lines = bill(cells)
    assert {line: lines[line].usd for line in by_hand} == pytest.approx(by_hand)


def test_a_set_that_several_cells_need_is_put_and_kept_once():
    cells = [demand("download", **SMALL), demand("download", **SMALL, parallel_limit=64), demand("download", **LARGE)]
    lines = [{what: item.quantity for (_, what), item in bill(some).items()} for some in (cells[:2], cells)]
    assert [line["PUT of the data sets"] for line in lines] == [77_577, 77_677]
    hours = (sum(cell_s(each, "aws") for each in cells) + around_s(cells, "aws")) / 3600
    assert lines[-1]["storage of the data sets"] == pytest.approx((SMALL_GB + LARGE_GB) * hours / 730)
