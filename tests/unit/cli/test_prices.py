"""`stampede prices`: what it prints, and how AWS's own list becomes prices.json."""

import csv
import io
import json
from datetime import UTC, datetime

import pytest

from stampede.cli.command_line import main
from stampede.planning.cost import price_list, prices
from stampede.stacks import endpoints
from tests.fakes.price_list import FakePriceList, product

MONTH = f"{datetime.now(UTC):%Y-%m}"


@pytest.fixture
def file(tmp_path, monkeypatch):
    """A prices.json of its own: three that can be asked for, one that can't."""

    def price(usd, unit, **more):
        return {"usd": usd, "unit": unit, "as_of": "2026-05", "source": "somewhere"} | more

    launch = {"usd": 0.0000025, "unit": "request", "as_of": "2023-11", "source": "the launch"}
    content = {
        "currency": "USD",
        "regions": {
            "us-east-1": {
                "s3_get": price(0.0000004, "request"),
                "express_put": price(0.00000113, "request", before=[launch]),
                "ec2_hour:m5a.8xlarge": price(1.376, "instance-hour"),
                "lambda_poller_hour": price(None, "poller-hour", as_of=None),
            }
        },
        "price_list": {
            "s3_get": {"service": "AmazonS3", "usagetype": "Requests-Tier2", "unit": "Requests"},
            "express_put": {"service": "AmazonS3", "usagetype": "Requests-XZ-Tier1", "unit": "Requests"},
            "ec2_hour:m5a.8xlarge": {
                "service": "AmazonEC2",
                "usagetype": "BoxUsage:m5a.8xlarge",
                "unit": "Hrs",
                "also": {"operatingSystem": "Linux"},
            },
        },
    }
    path = tmp_path / "prices.json"
    price_list.write(content, path)
    monkeypatch.setattr(prices, "FILE", path)
    return path


GET = product("Requests-Tier2", "0.0000004000")
PUT = product("USE1-Requests-XZ-Tier1", "0.0000011300")
HOST = product("BoxUsage:m5a.8xlarge", "1.3760000000", service="AmazonEC2", unit="Hrs", operatingSystem="Linux")
# What the words alone would match too.
OTHER_PRODUCTS = [
    product("Tables-Requests-Tier2", "0.0000005"),
    product("HostBoxUsage:m5a.8xlarge", "9.0", service="AmazonEC2", unit="Hrs", operatingSystem="Linux"),
    product("BoxUsage:m5a.8xlarge", "2.8", service="AmazonEC2", unit="Hrs", operatingSystem="Windows"),
    product("APN1-Requests-Tier2", "0.0000003700", region="ap-northeast-1"),
]


@pytest.fixture
def stampede(file, monkeypatch, capsys):
    """Runs the verb against products; gives its status, its rows by name, what it said, and the stub."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setattr(endpoints, "is_aws", lambda url: True)  # the stub stands for it

    def run(*options, products=(GET, PUT, HOST, *OTHER_PRODUCTS), error=""):
        stub = FakePriceList(products, error)
        with stub:
            monkeypatch.setenv("AWS_ENDPOINT_URL", stub.url)
            status = main(["prices", "--format", "json", *options])
        printed = capsys.readouterr()
        rows = {row["name"]: row for row in json.loads(printed.out or "[]")}
        return status, rows, printed.err, stub

    return run


def test_the_prices_of_an_endpoint_are_not_taken_for_awss(stampede, monkeypatch):
    monkeypatch.setattr(endpoints, "is_aws", lambda url: False)
    status, _, err, stub = stampede("--update")
    assert (status, "isn't AWS, and has no prices of AWS; unset AWS_ENDPOINT_URL" in err) == (2, True)
    assert stub.requests == []


def test_the_prices_are_printed_with_their_dates_and_sources(capsys):
    assert main(["prices", "--region", "ap-northeast-1", "--format", "csv"]) == 0
    printed = capsys.readouterr()
    rows = {row["name"]: row for row in csv.DictReader(io.StringIO(printed.out))}
    assert (
        "prices aren't known for ap-northeast-1: those of us-east-1 are shown; `stampede prices --update" in printed.err
    )
    assert list(rows["s3_get"]) == ["name", "usd", "unit", "region", "as_of", "source"]
    get, put, poller = rows["s3_get"], rows["express_put"], rows["lambda_poller_hour"]
    assert (get["usd"], get["region"], get["as_of"]) == ("0.00000037", "ap-northeast-1", "2026-09")
    assert (put["usd"], put["region"]) == ("0.00000113", "us-east-1")
    assert (poller["usd"], poller["as_of"]) == ("", "")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--region", "us-east-9"], "--region: AWS Lambda has no region 'us-east-9'; did you mean us-east-"),
        (["--dry-run"], "--dry-run: without --update nothing is changed"),
    ],
)
def test_wrong_options_are_one_line(options, words, capsys):
    assert main(["prices", *options]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert words in printed.err


def test_every_filter_is_of_a_price_that_there_is():
    stored = json.loads(prices.FILE.read_text())
    assert stored["price_list"].keys() <= stored["regions"]["us-east-1"].keys()
    assert all({"service", "usagetype", "unit"} <= product.keys() for product in stored["price_list"].values())


def test_what_is_stored_is_how_an_update_would_write_it(tmp_path):
    price_list.write(json.loads(prices.FILE.read_text()), tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == prices.FILE.read_text()


def test_an_update_shows_what_differs_and_keeps_what_was_before(stampede, file):
    cheaper = product("USE1-Requests-XZ-Tier1", "0.0000010000")
    status, rows, output, stub = stampede("--update", products=(GET, cheaper, HOST, *OTHER_PRODUCTS))
    assert status == 0
    assert {name: row["found"] for name, row in rows.items()} == {
        "s3_get": "the same",
        "express_put": "-11.5 %",
        "ec2_hour:m5a.8xlarge": "the same",
        "lambda_poller_hour": "not requested: there is no filter for it",
    }
    assert "3 prices of us-east-1 found, 1 of them different from the stored ones; written to" in output
    stored = json.loads(file.read_text())["regions"]["us-east-1"]
    put = stored["express_put"]
    assert (put["usd"], put["as_of"]) == (0.000001, MONTH)
    assert "GetProducts" not in put["source"] and "AmazonS3, Requests-XZ-Tier1" in put["source"]
    assert [(entry["usd"], entry["as_of"]) for entry in put["before"]] == [
        (0.0000025, "2023-11"),
        (0.00000113, "2026-05"),
    ]
    assert prices.read_prices(day="2026-06", file=file)["express_put"].usd == 0.00000113
    # One that is the same is known to be so from then on, and its first month isn't lost.
    assert [(entry["usd"], entry["as_of"]) for entry in stored["s3_get"]["before"]] == [(0.0000004, "2026-05")]
    assert stored["lambda_poller_hour"]["usd"] is None
    [request] = [entry for entry in stub.requests if entry["ServiceCode"] == "AmazonEC2" and "NextToken" not in entry]
    assert request["Filters"] == [
        {"Type": "TERM_MATCH", "Field": "regionCode", "Value": "us-east-1"},
        {"Type": "TERM_MATCH", "Field": "operatingSystem", "Value": "Linux"},
        {"Type": "CONTAINS", "Field": "usagetype", "Value": "BoxUsage:m5a.8xlarge"},
    ]


def test_a_second_update_in_which_nothing_differs_adds_nothing_to_what_was_before(stampede, file):
    stampede("--update")
    once = file.read_text()
    stampede("--update")
    assert file.read_text() == once


def test_a_dry_run_shows_the_same_and_writes_nothing(stampede, file):
    before = file.read_bytes()
    status, rows, output, _ = stampede(
        "--update", "--dry-run", products=(product("Requests-Tier2", "0.0000008"), PUT, HOST)
    )
    assert (status, rows["s3_get"]["found"], rows["s3_get"]["usd"]) == (0, "+100.0 %", 0.0000008)
    assert "nothing was written" in output
    assert file.read_bytes() == before


def test_a_region_of_which_nothing_is_known_gets_prices_of_its_own(stampede, file):
    status, rows, _, stub = stampede("--update", "--region", "ap-northeast-1")
    assert rows["s3_get"]["found"] == "new"
    # Those that the list doesn't have there are left as they are, and the status says so.
    assert (status, rows["express_put"]["found"]) == (1, "no price: no such product")
    own = json.loads(file.read_text())["regions"]["ap-northeast-1"]
    assert list(own) == ["s3_get"] and own["s3_get"]["usd"] == 0.00000037 and own["s3_get"]["unit"] == "request"
    assert {request["Filters"][0]["Value"] for request in stub.requests} == {"ap-northeast-1"}


def test_a_product_on_a_later_page_is_found(stampede):
    many = [product(f"Tables{at}-Requests-Tier2", "1.0") for at in range(5)]
    status, rows, _, stub = stampede("--update", "--dry-run", products=(*many, GET, PUT, HOST))
    assert (status, rows["s3_get"]["usd"]) == (0, 0.0000004)
    assert [request["NextToken"] for request in stub.requests if "NextToken" in request] == ["2", "4"]


def test_of_prices_by_tiers_it_is_the_first_that_is_not_free(stampede):
    tiers = product("Requests-Tier2", "0.0000000000", "0.0000004000", "0.0000003000")
    _, rows, _, _ = stampede("--update", "--dry-run", products=(tiers, PUT, HOST))
    assert rows["s3_get"]["usd"] == 0.0000004
    _, rows, _, _ = stampede("--update", "--dry-run", products=(product("Requests-Tier2", "0.0000000000"), PUT, HOST))
    assert rows["s3_get"]["usd"] == 0


def without_offers(terms):
    return GET | {"terms": terms}


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ([], "no such product"),
        ([GET, GET], "2 products instead of one (SKU14, SKU14)"),
        ([product("Requests-Tier2", "0.0000004", unit="Thousands")], "its unit is Thousands, not Requests"),
        ([product("Requests-Tier2", "0.000003", currency="CNY")], "it is in CNY, not in USD"),
        ([product("Requests-Tier2", "-1")], "it isn't an amount of money"),
        ([product("Requests-Tier2", "NaN")], "it isn't an amount of money"),
        ([product("Requests-Tier2", "cheap")], "the answer doesn't have the documented form"),
        ([product("Requests-Tier2")], "the offer has no price"),
        ([without_offers({})], "no on-demand offers"),
        ([without_offers({"OnDemand": {"a": {}, "b": {}}})], "2 on-demand offers"),
        ([without_offers({"OnDemand": {"a": {}}})], "the answer doesn't have the documented form"),
        (["not JSON"], "the answer doesn't have the documented form"),
        (["[]"], "the answer doesn't have the documented form"),
    ],
)
def test_a_bad_answer_is_one_line_and_changes_nothing_for_that_price(answers, why, stampede, file):
    before = json.loads(file.read_text())["regions"]["us-east-1"]["s3_get"]
    texts = any(isinstance(answer, str) for answer in answers)
    status, rows, output, _ = stampede("--update", products=answers if texts else (*answers, PUT, HOST))
    assert status == 1
    assert rows["s3_get"]["usd"] is None and why in rows["s3_get"]["found"]
    [line] = [line for line in output.splitlines() if line.startswith("s3_get: ")]
    assert why in line and "(AmazonS3, Requests-Tier2, us-east-1); not changed" in line
    stored = json.loads(file.read_text())["regions"]["us-east-1"]
    assert stored["s3_get"] == before
    if not texts:
        assert stored["express_put"]["as_of"] == MONTH


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            "AccessDeniedException",
            "asking for prices (pricing:GetProducts) in us-east-1: An error occurred (AccessDenied",
        ),
        ("ExpiredTokenException", "AWS doesn't accept these credentials (ExpiredTokenException)"),
    ],
)
def test_a_refusal_is_one_line_and_nothing_is_written(error, words, stampede, file):
    before = file.read_bytes()
    status, rows, output, stub = stampede("--update", error=error)
    assert (status, rows, len(stub.requests)) == (1, {}, 1)
    assert words in output and output.count("\n") == 1
    assert file.read_bytes() == before


def test_without_credentials_it_is_one_line_with_the_fix(file, capsys):
    before = file.read_bytes()
    assert main(["prices", "--update"]) == 2
    printed = capsys.readouterr()
    assert (
        printed.err.startswith("stampede: no AWS credentials found; set AWS_PROFILE") and printed.err.count("\n") == 1
    )
    assert (printed.out, file.read_bytes()) == ("", before)


def test_a_file_that_cannot_be_written_is_one_line_and_stays(stampede, file, monkeypatch):
    before = file.read_bytes()
    monkeypatch.setattr(type(file), "write_text", lambda *_, **__: (_ for _ in ()).throw(PermissionError(13, "Denied")))
    status, _, output, _ = stampede("--update")
    assert status == 1 and f"{file}: can't be written (Denied); nothing was changed" in output
    assert file.read_bytes() == before
