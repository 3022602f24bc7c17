"""`stampede prices`: what it prints, and how AWS's own list becomes prices.json."""

import csv
import io
import json
from datetime import UTC, datetime

import pytest

from stampede.planning.cost import price_list, prices
from stampede.stacks import endpoints
from tests.fakes.price_list import FakePriceList, product

MONTH = f"{datetime.now(UTC):%Y-%m}"


def price(usd, unit="request", as_of="2026-05", **more):
    return {"usd": usd, "unit": unit, "as_of": as_of, "source": "somewhere"} | more


@pytest.fixture
def file(tmp_path, monkeypatch):
    """A prices.json of its own: three that can be asked for, one that can't."""
    s3 = {"service": "AmazonS3", "unit": "Requests"}
    host = {"service": "AmazonEC2", "unit": "Hrs", "usagetype": "BoxUsage:m5a.8xlarge"}
    of_region = {
        "s3_get": price(0.0000004),
        "express_put": price(0.00000113, before=[price(0.0000025, as_of="2023-11")]),
        "ec2_hour:m5a.8xlarge": price(1.376, "instance-hour"),
        "lambda_poller_hour": price(None, "poller-hour", None),
    }
    products = {
        "s3_get": s3 | {"usagetype": "Requests-Tier2"},
        "express_put": s3 | {"usagetype": "Requests-XZ-Tier1"},
        "ec2_hour:m5a.8xlarge": host | {"also": {"operatingSystem": "Linux"}},
    }
    path = tmp_path / "prices.json"
    price_list.write({"currency": "USD", "regions": {"us-east-1": of_region}, "price_list": products}, path)
    monkeypatch.setattr(prices, "FILE", path)
    return path


GET = product("Requests-Tier2", "0.0000004000")
PUT = product("USE1-Requests-XZ-Tier1", "0.0000011300")
HOST = product("BoxUsage:m5a.8xlarge", "1.3760000000", service="AmazonEC2", unit="Hrs", operatingSystem="Linux")
# What the words alone would match too.
OTHERS = [
    product("Tables-Requests-Tier2", "0.0000005"),
    product("HostBoxUsage:m5a.8xlarge", "9.0", service="AmazonEC2", unit="Hrs", operatingSystem="Linux"),
    product("BoxUsage:m5a.8xlarge", "2.8", service="AmazonEC2", unit="Hrs", operatingSystem="Windows"),
    product("APN1-Requests-Tier2", "0.0000003700", region="ap-northeast-1"),
]


@pytest.fixture
def update(file, stampede, monkeypatch):
    """Updates the prices from products; gives the status, the rows by name, stderr, and the stub."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setattr(endpoints, "is_aws", lambda url: True)  # the stub stands for it

    def run(*options, products=(GET, PUT, HOST, *OTHERS), error=""):
        stub = FakePriceList(products, error)
        with stub:
            monkeypatch.setenv("AWS_ENDPOINT_URL", stub.url)
            done = stampede("prices", "--update", "--format", "json", *options)
        return done.status, {row["name"]: row for row in json.loads(done.out or "[]")}, done.err, stub

    return run


def test_the_prices_are_printed_with_their_dates_and_sources(stampede):
    done = stampede("prices", "--region", "ap-northeast-1", "--format", "csv")
    rows = {row["name"]: row for row in csv.DictReader(io.StringIO(done.out))}
    get, put, poller = rows["s3_get"], rows["express_put"], rows["lambda_poller_hour"]
    assert list(get) == ["name", "usd", "unit", "region", "as_of", "source"]
    assert (get["usd"], get["region"], get["as_of"]) == ("0.00000037", "ap-northeast-1", "2026-09")
    assert (put["usd"], put["region"], poller["usd"], poller["as_of"]) == ("0.00000113", "us-east-1", "", "")
    done = stampede("prices", "--region", "us-east-9")
    assert (done.status, "AWS Lambda has no region 'us-east-9'; did you mean us-east-" in done.err) == (2, True)


def test_an_update_shows_what_differs_and_keeps_what_was_before(update, file):
    products = (GET, product("USE1-Requests-XZ-Tier1", "0.0000010000"), HOST, *OTHERS)
    before = file.read_bytes()
    for options, written in ((["--dry-run"], False), ([], True)):
        status, rows, err, stub = update(*options, products=products)
        assert (status, file.read_bytes() != before) == (0, written)
        if not written:
            assert {name: row["found"] for name, row in rows.items()} == {
                "s3_get": "the same",
                "express_put": "-11.5 %",
                "ec2_hour:m5a.8xlarge": "the same",
                "lambda_poller_hour": "not requested: there is no filter for it",
            }
            assert "3 prices of us-east-1 found, 1 of them different; nothing was" in err
    stored = json.loads(file.read_text())["regions"]["us-east-1"]
    put, get = stored["express_put"], stored["s3_get"]
    assert (put["usd"], put["as_of"], "AmazonS3, Requests-XZ-Tier1" in put["source"]) == (0.000001, MONTH, True)
    # Of one that is the same the first month isn't lost.
    earlier = [(entry["usd"], entry["as_of"]) for entry in (*put["before"], *get["before"])]
    assert earlier == [(0.0000025, "2023-11"), (0.00000113, "2026-05"), (0.0000004, "2026-05")]
    assert prices.read_prices(day="2026-06", file=file)["express_put"].usd == 0.00000113
    [request] = [request for request in stub.requests if request["ServiceCode"] == "AmazonEC2"][:1]
    assert request["Filters"] == [
        {"Type": "TERM_MATCH", "Field": "regionCode", "Value": "us-east-1"},
        {"Type": "TERM_MATCH", "Field": "operatingSystem", "Value": "Linux"},
        {"Type": "CONTAINS", "Field": "usagetype", "Value": "BoxUsage:m5a.8xlarge"},
    ]


def test_a_product_on_a_later_page_is_found_and_of_prices_by_tiers_the_first_that_is_not_free(update):
    many = [product(f"Tables{at}-Requests-Tier2", "1.0") for at in range(5)]
    tiers = product("Requests-Tier2", "0.0000000000", "0.0000004000", "0.0000003000")
    status, rows, _, stub = update("--dry-run", products=(*many, tiers, PUT, HOST))
    assert (status, rows["s3_get"]["usd"]) == (0, 0.0000004)
    assert [request["NextToken"] for request in stub.requests if "NextToken" in request] == ["2", "4"]


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ([], "no such product"),
        ([GET, GET], "2 products"),
        ([product("Requests-Tier2", "0.0000004", unit="Thousands")], "Thousands"),
        ([product("Requests-Tier2", "NaN")], "amount"),
        ([GET | {"terms": {"OnDemand": {"a": {}, "b": {}}}}], "2 on-demand"),
        (["not JSON"], "form"),
    ],
)
def test_a_bad_answer_is_one_line_and_changes_nothing_for_that_price(answers, why, update, file):
    before = json.loads(file.read_text())["regions"]["us-east-1"]["s3_get"]
    texts = any(isinstance(answer, str) for answer in answers)
    status, rows, _, _ = update(products=answers if texts else (*answers, PUT, HOST))
    assert (status, rows["s3_get"]["usd"], why in rows["s3_get"]["found"]) == (1, None, True)
    stored = json.loads(file.read_text())["regions"]["us-east-1"]
    assert stored["s3_get"] == before
    assert texts or stored["express_put"]["as_of"] == MONTH


def test_what_cannot_be_asked_or_stored_is_one_line_and_nothing_is_written(update, file, monkeypatch):
    before = file.read_bytes()
    status, rows, err, stub = update(error="AccessDeniedException")
    assert (status, rows, len(stub.requests), "(pricing:GetProducts)" in err) == (1, {}, 1, True)
    monkeypatch.setattr(type(file), "write_text", lambda *_, **__: (_ for _ in ()).throw(PermissionError(13, "Denied")))
    status, _, err, _ = update()
    assert (status, f"{file}: can't be written (Denied); nothing was changed" in err) == (1, True)
    monkeypatch.setattr(endpoints, "is_aws", lambda url: False)
    status, _, err, stub = update()
    assert (status, "isn't AWS, and has no prices of AWS; unset" in err, stub.requests) == (2, True, [])
    assert file.read_bytes() == before
