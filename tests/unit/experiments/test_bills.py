"""The cost of the experiments' cells, against sums by hand from the published setups and prices."""

import csv
import json

import pytest

from experiments.express.usage import tariffs
from stampede.checkout import ROOT
from stampede.planning import cost
from stampede.planning.cost.prices import FILE, read_prices
from tests.unit.planning.foreseen_floods import each_takes
from tests.unit.plans import plan

GIB = 2**30
UPLOAD = "operation=upload parallel_limit=1 concurrency_value=1 object_bytes=10000 slices=3"
UPLOAD += " storage_class="
DOWNLOAD = UPLOAD.replace("upload", "download")
COUNT = "operation=count object_bytes=10000 storage_class=express"
SMALL_GB, QUERIED_GB = 77_577 * 10_000 / GIB, 7e9 / GIB
PUT, COPIED = "PUT of the data sets", "PUT and COPY of the data set"
FILES = "dataset=small memory_size=512 concurrency_value=1 threads=30 storage="


@pytest.fixture(autouse=True)
def floods(monkeypatch):
    each_takes(monkeypatch, 10.0)


@pytest.mark.parametrize(
    ("experiment", "settings", "usd", "usd_per_hour"),
    [
        # 2,500 keys are three pages of the source, and three of the destination, which is looked at
        # again when it is empty; DELETE is free. 20 MB are two parts of 16 MiB, and three requests
        # around them; the others are copies.
        (
            "copy",
            "object_count=2500 parallel_limit=100",
            {
                "COPY": 2500 * 5e-6,
                "LIST": 7 * 5e-6,
                COPIED: (5 + 2499) * 5e-6,
                "HEAD of the data set": 2500 * 4e-7,
            },
            {"storage of sources and copies": 2 * 50e9 / GIB / 730 * 0.023},
        ),
        # Three messages, of a slice each, and one that empties: a master and the slices.
        (
            "copy",
            "object_count=2500 parallel_limit=100 from_manifest=true concurrency_value=10",
            {
                "COPY": 2500 * 5e-6,
                "LIST": 4 * 5e-6,
                COPIED: (5 + 3) * 5e-6,
                "GET of slices": 3 * 4e-7,
                "requests": 4 * 2e-7,
            },
            {},
        ),
        # Without bucket keys a Decrypt and a GenerateDataKey a copy.
        (
            "copy_host",
            "parallel_limit=100 concurrency_value=2 bucket_key=false",
            {
                "COPY": 219_120 * 5e-6,
                "LIST": 221 * 5e-6,
                "GET of slices": 22 * 4e-7,
                "GenerateDataKey and Decrypt": 2 * 219_120 * 3e-6,
                "send, receive, delete": (2 + 2 * 3) * 4e-7,
            },
            {
                "hosts, m5a.8xlarge": 2 * 1.376,
                "interface endpoints": 4 * 0.01,
                "disks, gp3": 2 * 8 / 730 * 0.08,
            },
        ),
        # With them 97.3 % less.
        (
            "copy_host",
            "parallel_limit=100",
            {"GenerateDataKey and Decrypt": 2 * 219_120 * 0.027 * 3e-6},
            {},
        ),
        ("filesystem", f"{FILES}s3", {"GET and HEAD": 2000 * 4e-7, "elastic reads": 0}, {}),
        ("filesystem", f"{FILES}efs", {"GET and HEAD": 0, "elastic reads": 53 / 1024 * 0.03}, {}),
        (
            "express",
            f"{UPLOAD}express",
            {"PUT": 77_577 * 1.13e-6, "bytes of PUT": SMALL_GB * 0.0032},
            {},
        ),
        # Its set is put once, and listed before (78 pages) and again to delete it.
        (
            "express",
            f"{DOWNLOAD}standard",
            {"GET": 77_577 * 4e-7, PUT: 77_577 * 5e-6, "LIST of the data sets": 156 * 5e-6},
            {"storage of the data sets": SMALL_GB / 730 * 0.023},
        ),
        (
            "express",
            COUNT,
            {
                "scanned": 7e9 / 2**40 * 5,
                "GET": 700_000 * 3e-8,
                "LIST": 700 * 1.13e-6,
                "bytes of GET": QUERIED_GB * 0.0006,
            },
            {},
        ),
    ],
)
def test_a_cell_costs_the_sum_by_hand(experiment, settings, usd, usd_per_hour):
    estimated = cost.estimate(plan(settings, experiment, each=1))
    lines = {item.what: item.usd for item in estimated.items}
    by_hand = usd | {what: each * estimated.total_s / 3600 for what, each in usd_per_hour.items()}
    assert {what: lines[what] for what in by_hand} == pytest.approx(by_hand)


def test_a_data_set_of_several_cells_is_uploaded_and_stored_once():
    sets = DOWNLOAD.replace("parallel_limit=1", "parallel_limit=1,64").replace(
        "10000", "10000,100000000"
    )
    estimated = cost.estimate(plan(f"{sets}standard", "express"))
    lines = {item.what: item.quantity for item in estimated.items}
    assert lines[PUT] == 77_577 + 100
    kept_gb = SMALL_GB + 1e10 / GIB
    gb_months = kept_gb * estimated.total_s / 3600 / 730
    assert lines["storage of the data sets"] == pytest.approx(gb_months)


def test_each_instance_type_is_billed_for_the_time_of_its_own_cells():
    usd_per_hour = {"m5a.4xlarge": 0.688, "m5a.12xlarge": 2.064}
    both = cost.estimate(
        plan(f"instance_type={','.join(usd_per_hour)} parallel_limit=100,800", "copy_host")
    )
    around_s = []
    for name, price in usd_per_hour.items():
        [billed_usd] = [item.usd for item in both.items if item.what == f"hosts, {name}"]
        own_s = sum(seconds for cell, seconds in both.cells_s.items() if name in cell)
        around_s.append(billed_usd / price * 3600 - own_s)
    # The time around the cells is billed to the first type.
    assert sorted(around_s) == pytest.approx([0, both.around_s], abs=1e-6)


def test_the_users_own_object_is_neither_uploaded_nor_stored():
    own = "existing_bucket=true s3_bucket_name=mine "
    uploaded, read = (
        {item.what for item in cost.estimate(plan(f"{settings}concurrency_value=1")).items}
        for settings in ("", own)
    )
    assert uploaded - read == {"PUT of the object's parts", "storage of the object"}


# The published bill of the storage classes


def test_the_published_gets_cost_the_published_amounts_at_the_prices_of_their_day():
    regions, gets = json.loads(FILE.read_text())["regions"], 13_709_261

    def usd_in_2023(name):
        prices = [regions[region].get(name, {}) for region in ("us-east-1", "ap-northeast-1")]
        known = [entry for price in prices for entry in (*price.get("before", []), price)]
        return [entry["usd"] for entry in known if (entry.get("as_of") or "9") <= "2023-12"][-1]

    standard, express = (gets * usd_in_2023(name) for name in ("s3_get", "express_get"))
    with (ROOT / "experiments/express/published/express.csv").open() as lines:
        [row] = [
            row
            for row in csv.DictReader(lines)
            if row["case"] == f"GET requests for {gets} objects"
        ]
    assert float(row["express"]) == round(express, 2)
    # where that comes from isn't known
    assert float(row["standard"]) - standard == pytest.approx(0.08, abs=0.005)


def test_without_a_known_price_there_is_no_tariff():
    known = read_prices().known_usd
    assert tariffs(known)["express"].read_usd == 3e-8
    assert tariffs({name: usd for name, usd in known.items() if name != "express_read_gb"}) is None
