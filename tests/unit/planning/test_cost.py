"""The cost and duration of a sweep, against sums by hand from the published setup and prices."""

import json

import pytest

from loader.payloads import Payloads
from stampede.errors import UsageError
from stampede.planning import cost
from stampede.planning.cost import check_budget
from stampede.planning.cost.prices import read_prices
from tests.unit.planning.foreseen_floods import each_takes
from tests.unit.plans import plan

ONE_S = 13.24
SMALL = "concurrency_value=10 memory_size=1024"


@pytest.fixture(autouse=True)
def floods(monkeypatch):
    """Floods of operations of ONE_S each; test_predicting tests the model itself."""
    each_takes(monkeypatch, ONE_S)


def estimate(settings="", experiment="download", message_bytes=(), **options):
    return cost.estimate(plan(settings, experiment, **options), message_bytes=message_bytes)


def usd(estimated):
    return {item.what: item.usd for item in estimated.items}


def quantity(estimated):
    return {item.what: item.quantity for item in estimated.items}


def test_the_published_matrix_costs_and_takes_the_sums_by_hand():
    downloads, environments = 10 * 666, 666  # at each memory size
    seconds = downloads * ONE_S + environments  # one cold start of a second for each function
    by_hand = {
        "compute, x86_64": seconds * (1 + 2) * 0.0000166667,
        "/tmp above 512 MB": 2 * seconds * (1200 - 512) / 1024 * 0.0000000309,
        "requests": 2 * downloads * 0.0000002,
        # 1 GiB is 128 parts of 8 MiB, and one HEAD
        "GET and HEAD": 2 * downloads * (128 + 1) * 0.0000004,
        "PUT of the object's parts": (64 + 3) * 0.000005,  # parts of 16 MiB; list, create, complete
        # Batches of ten (every cell's count is a multiple of ten), and each message received and
        # deleted.
        "send, receive, delete": (downloads / 5 + 4 * downloads) * 0.0000004,
        "log lines": 2 * downloads * 1024 / 2**30 * 0.5,
    }
    estimated = estimate()
    assert {what: usd(estimated)[what] for what in by_hand} == pytest.approx(by_hand)
    # The rest is storage for 43 minutes, polls of an empty queue, and scans: about 0.1 cent.
    assert 0 < estimated.total_usd - sum(by_hand.values()) < 0.002
    # Ten downloads for each of N, all N at once, and the time around them.
    assert estimated.total_s == pytest.approx(2 * 6 * (10 * ONE_S + 30 + 15) + 60 + 1024 / 12 + 180)


@pytest.mark.parametrize(
    ("sizes", "requests"),
    [
        ([], 10 + 100 + 100),
        # ten of 65,258 bytes in a batch are ten chunks, one of them is one
        ([65_000], 10 * 10 + 100 + 100),
        ([300_000], 34 * 14 + 500 + 100),  # three a batch: 901 KB
        ([10, 65_536], 10 * 6 + 150 + 100),
    ],
)
def test_sqs_bills_each_64_kb_sent_and_received(sizes, requests):
    text = json.dumps([{"payload": "x" * size, "weight": 1} for size in sizes])
    message_bytes = Payloads.of_text(text).message_bytes() if sizes else ()
    estimated = estimate(SMALL, "function", message_bytes, each=10)
    assert quantity(estimated)["send, receive, delete"] == requests


def test_an_invocation_takes_a_full_batch_received_and_deleted_ten_at_a_time():
    settings = f"{SMALL} batching_window_s=1 batch_size="
    alone = quantity(estimate(f"{settings}1", "function", each=4))
    batched = quantity(estimate(f"{settings}25", "function", each=4))
    assert alone["requests"] == batched["requests"] == 40
    assert alone["compute, x86_64"] == batched["compute, x86_64"]
    assert batched["send, receive, delete"] == 100 + 2 * 100
    assert batched["log lines"] == 25 * alone["log lines"]


def test_the_wait_at_the_start_barrier_is_billed():
    waited, plain = (quantity(estimate(**options)) for options in ({"start_barrier_s": 10.0}, {}))
    assert waited["compute, x86_64"] - plain["compute, x86_64"] == pytest.approx(10 * 666 * (1 + 2))


def test_an_item_without_a_price_in_its_region_is_named_and_priced_as_in_us_east_1():
    assert "eu-central-1 or else us-east-1" in estimate("region=eu-central-1").parts()
    tokyo = estimate("region=ap-northeast-1")
    assert usd(tokyo)["GET and HEAD"] == pytest.approx(2 * 6660 * 129 * 0.00000037)
    assert usd(tokyo)["requests"] == usd(estimate())["requests"]
    elsewhere = tokyo.as_dict()["prices_elsewhere"]
    assert "lambda_request" in elsewhere and "s3_get" not in elsewhere
    assert read_prices("ap-northeast-1")["express_get"].usd == read_prices()["express_get"].usd


def test_every_price_has_a_source_and_a_known_one_its_month():
    for price in read_prices().by_name.values():
        assert price.source and bool(price.as_of) == (price.usd is not None)


def test_a_budget_below_the_estimate_or_with_an_unknown_price_is_refused():
    with pytest.raises(UsageError, match=r"^--budget-usd 5: .*5\.15 USD .*raise --budget-usd"):
        check_budget(estimate(), 5.0)
    check_budget(estimate(), 6.0)
    check_budget(estimate(), None)
    unpriced = estimate("instance_type=c7i.8xlarge parallel_limit=100", "copy_host")
    [hosts] = unpriced.unpriced
    assert (hosts.usd, hosts.price) == (None, "ec2_hour:c7i.8xlarge")
    assert "c7i.8xlarge" in unpriced.sentences()[-1]
    with pytest.raises(UsageError, match=r"can't be guaranteed.*c7i\.8xlarge"):
        check_budget(unpriced, 1000.0)


def test_the_polls_of_provisioned_pollers_are_billed_at_their_maximum():
    polled = estimate(
        "memory_size=1024 concurrency_value=100 provisioned_pollers=null,{minimum=2,maximum=10}"
    )
    [polled_s] = [seconds for name, seconds in polled.cells_s.items() if "minimum" in name]
    # Ten pollers with ten polls a second each, during their cell and around the sweep.
    pollers_s = 10 * (polled_s + polled.around_s)
    assert quantity(polled)["provisioned pollers, at most"] == pytest.approx(10 * pollers_s)
    assert quantity(polled)["provisioned pollers"] == pytest.approx(pollers_s / 3600)
    assert "provisioned pollers" not in quantity(estimate())
