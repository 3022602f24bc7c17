"""`stampede prices`: its output, and updates of prices.json from AWS's price list."""

import csv
import io
import json
from datetime import UTC, datetime

import pytest

from stampede.planning.cost import prices
from stampede.stacks import endpoints
from tests.fakes.price_list import FakePriceList, product

MONTH = f"{datetime.now(UTC):%Y-%m}"


def price(usd, as_of="2026-05", **more):
    return {"usd": usd, "unit": "request", "as_of": as_of, "source": "somewhere"} | more


@pytest.fixture
def file(tmp_path, monkeypatch):
    """A prices.json with two prices that can be updated, and one that can't."""
    s3 = {"service": "AmazonS3", "unit": "Requests"}
    of_region = {
        "s3_get": price(0.0000004),
        "express_put": price(0.00000113, before=[price(0.0000025, "2023-11")]),
        "lambda_poller_hour": price(None, None),
    }
    products = {
        "s3_get": s3 | {"usagetype": "Requests-Tier2"},
        "express_put": s3 | {"usagetype": "Requests-XZ-Tier1", "also": {"group": "S3-API"}},
    }
    path = tmp_path / "prices.json"
    content = {"currency": "USD", "regions": {"us-east-1": of_region}, "price_list": products}
    path.write_text(json.dumps(content))
    monkeypatch.setattr(prices, "FILE", path)
    return path


# by tiers; the first is free
GET = product("Requests-Tier2", "0.0000000000", "0.0000004000", "0.0000003000")
PUT = product("USE1-Requests-XZ-Tier1", "0.0000010000", group="S3-API")
# What the words alone would match too.
OTHERS = [
    *(product(f"Tables{at}-Requests-Tier2", "0.0000005") for at in range(3)),  # more than one page
    product("Requests-XZ-Tier1", "9.0", group="S3-Tables"),
    product("APN1-Requests-Tier2", "0.0000003700", region="ap-northeast-1"),
]


@pytest.fixture
def update(file, stampede, monkeypatch):
    """A function that updates prices: it returns status, rows by name, stderr and the stub."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setattr(endpoints, "is_aws", lambda url: True)  # the stub stands for it

    def run(*options, products=(*OTHERS, GET, PUT), error=""):
        with FakePriceList(products, error) as stub:
            monkeypatch.setenv("AWS_ENDPOINT_URL", stub.url)
            done = stampede("prices", "--update", "--format", "json", *options)
        rows = {row["name"]: row for row in json.loads(done.out or "[]")}
        return done.status, rows, done.err, stub

    return run


def test_the_prices_are_printed_with_their_dates_and_sources(stampede):
    done = stampede("prices", "--region", "ap-northeast-1", "--format", "csv")
    rows = {row["name"]: row for row in csv.DictReader(io.StringIO(done.out))}
    get, put = rows["s3_get"], rows["express_put"]
    assert list(get) == ["name", "usd", "unit", "region", "as_of", "source"]
    assert (get["usd"], get["region"]) == ("0.00000037", "ap-northeast-1")
    assert put["region"] == "us-east-1"


def test_an_update_shows_differences_and_keeps_earlier_prices(update, file):
    before = file.read_bytes()
    status, rows, _, stub = update("--dry-run")
    assert (status, file.read_bytes()) == (0, before)
    assert rows["s3_get"]["found"] == "the same" and rows["express_put"]["found"] == "-11.5 %"
    assert "not requested" in rows["lambda_poller_hour"]["found"]
    assert any(request.get("NextToken") for _, request in stub.calls)

    assert update()[0] == 0
    stored = json.loads(file.read_text())["regions"]["us-east-1"]
    put, get = stored["express_put"], stored["s3_get"]
    assert (put["usd"], put["as_of"]) == (0.000001, MONTH)
    assert "Requests-XZ-Tier1" in put["source"]
    # An unchanged price keeps its first month.
    earlier = [(entry["usd"], entry["as_of"]) for entry in (*put["before"], *get["before"])]
    assert earlier == [(0.0000025, "2023-11"), (0.00000113, "2026-05"), (0.0000004, "2026-05")]


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ([], "no such product"),
        ([GET, GET], "2 products"),
        ([product("Requests-Tier2", "0.0000004", unit="Thousands")], "Thousands"),
        ([product("Requests-Tier2", "NaN")], "amount"),
        (["not JSON"], "form"),
    ],
)
def test_a_bad_answer_leaves_its_price_unchanged(answers, why, update, file):
    before = json.loads(file.read_text())["regions"]["us-east-1"]["s3_get"]
    status, rows, _, _ = update(products=answers if "not JSON" in answers else (*answers, PUT))
    assert (status, rows["s3_get"]["usd"], why in rows["s3_get"]["found"]) == (1, None, True)
    assert json.loads(file.read_text())["regions"]["us-east-1"]["s3_get"] == before


def test_an_update_that_cannot_be_made_is_one_line_and_writes_nothing(update, file, monkeypatch):
    before = file.read_bytes()
    status, rows, err, stub = update(error="AccessDeniedException")
    assert (status, rows, len(stub.calls), "pricing:GetProducts" in err) == (1, {}, 1, True)
    file.with_suffix(".new").mkdir()
    status, _, err, _ = update()
    assert (status, "nothing was changed" in err) == (1, True)
    monkeypatch.setattr(endpoints, "is_aws", lambda url: False)
    status, _, err, stub = update()
    assert (status, "AWS_ENDPOINT_URL" in err, stub.calls) == (2, True, [])
    assert file.read_bytes() == before
