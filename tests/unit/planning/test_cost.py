"""What a sweep costs and how long it takes, against sums done by hand from the published setup and the prices."""

import json
from decimal import Decimal

import pytest

from experiments import EXPERIMENTS
from loader.payloads import Payloads
from stampede.errors import UsageError
from stampede.planning import cost
from stampede.planning.cost import check_budget
from stampede.planning.cost.prices import read_prices
from stampede.planning.plan import make_plan
from stampede.planning.predicting import Given
from tests.unit.loader.foreseen_floods import each_takes

ONE_S = 13.24


@pytest.fixture(autouse=True)
def floods(monkeypatch):
    """Operations of ONE_S each; what the model makes of them stands in test_foreseen."""
    each_takes(monkeypatch, ONE_S)


def plan(*settings, target="aws", defaults=None, **options):
    given = {"messages_per_concurrency": 10} | options
    return make_plan(EXPERIMENTS["download"], target, settings, defaults, **given)


def estimate(*settings, **options):
    return cost.estimate(plan(*settings, **options))


def usd(estimated, service, what):
    [item] = [entry for entry in estimated.items if (entry.service, entry.what) == (service, what)]
    return item.usd


def test_the_published_matrix_costs_what_a_sum_by_hand_says():
    downloads = 10 * (1 + 5 + 10 + 50 + 100 + 500)  # 6,660 at each memory size
    seconds = downloads * Decimal("13.24") + 666 * 1  # one cold start of a second for each function
    compute = (seconds * 1 + seconds * 2) * Decimal("0.0000166667")  # 1 GB, then 2 GB
    tmp = 2 * seconds * (Decimal(1200 - 512) / 1024) * Decimal("0.0000000309")
    requests = 2 * downloads * Decimal("0.0000002")
    gets = 2 * downloads * (128 + 1) * Decimal("0.0000004")  # 1 GiB is 128 parts of 8 MiB, and one HEAD
    puts = (64 + 3) * Decimal("0.000005")  # parts of 16 MiB; list, create, complete
    # 1,332 batches of ten (every cell's count is a multiple of ten), and each message received and deleted.
    sqs = (1332 + 2 * 13320) * Decimal("0.0000004")
    logs = Decimal(13320) * 1024 / 2**30 * Decimal("0.5")
    expected = compute + tmp + requests + gets + puts + sqs + logs

    estimated = estimate()
    assert usd(estimated, "Lambda", "compute, x86_64") == pytest.approx(float(compute))
    assert usd(estimated, "Lambda", "/tmp above 512 MB") == pytest.approx(float(tmp))
    assert usd(estimated, "Lambda", "requests") == pytest.approx(float(requests))
    assert usd(estimated, "S3", "GET and HEAD") == pytest.approx(float(gets))
    assert usd(estimated, "S3", "PUT of the object's parts") == pytest.approx(float(puts))
    assert usd(estimated, "SQS", "send, receive, delete") == pytest.approx(float(sqs))
    assert usd(estimated, "CloudWatch", "log lines") == pytest.approx(float(logs))
    # The rest is storage for 43 minutes, polls of an empty queue, and scans: about a tenth of a cent.
    assert float(expected) < estimated.total_usd < float(expected) + 0.002
    assert round(estimated.total_usd, 2) == 5.15


def test_the_published_matrix_takes_its_floods_and_what_stands_around_them():
    floods = 2 * 6 * 132.4  # ten downloads for each of N, all N at once
    around = 60 + 1024 / 12 + 180
    assert estimate().total_s == pytest.approx(floods + 12 * (30 + 15) + around)
    assert estimate().sentences()[0] == "duration: about 41 min for 12 cells, Terraform included"


def test_sqs_bills_each_64_kb_of_what_is_sent_and_received(monkeypatch):
    settings = ("concurrency_value=10", "memory_size=1024")

    def requests(*bodies):
        text = json.dumps([{"payload": "x" * size, "weight": 1} for size in bodies])
        given = Given(message_bytes=Payloads.of_text(text).message_bytes() if bodies else ())
        estimated = cost.estimate(
            make_plan(EXPERIMENTS["function"], "aws", settings, messages_per_concurrency=10), given=given
        )
        return quantity(estimated, "send, receive, delete")

    assert requests() == requests(10) == 10 + 100 + 100
    assert requests(65_000) == 10 * 10 + 100 + 100  # ten of 65,258 bytes in a batch are ten chunks, one of them is one
    assert requests(65_536) == 10 * 11 + 200 + 100
    assert requests(300_000) == 34 * 14 + 500 + 100  # three a batch: 901 KB
    assert requests(10, 65_536) == 10 * 6 + 150 + 100


def test_an_invocation_takes_a_full_batch_which_is_received_and_deleted_ten_at_a_time():
    settings = ["concurrency_value=10", "memory_size=1024", "batch_size=1,25", "batching_window_s=1"]
    alone, batched = (
        cost.estimate(make_plan(EXPERIMENTS["function"], "aws", [*settings, size], messages_per_concurrency=4))
        for size in ("batch_size=1", "batch_size=25")
    )
    assert quantity(alone, "requests") == quantity(batched, "requests") == 40
    assert quantity(alone, "compute, x86_64") == quantity(batched, "compute, x86_64")
    assert quantity(batched, "send, receive, delete") == 100 + 2 * 100
    assert quantity(batched, "log lines") == 25 * quantity(alone, "log lines")


def test_the_wait_at_the_start_barrier_is_billed():
    waited = usd(estimate(start_barrier_s=10.0), "Lambda", "compute, x86_64")
    more_gb_s = 10 * 666 * (1 + 2)
    assert waited - usd(estimate(), "Lambda", "compute, x86_64") == pytest.approx(more_gb_s * 0.0000166667)


@pytest.mark.parametrize("seed", range(3))
def test_the_object_is_stored_for_as_long_as_the_sweep_takes(seed):
    estimated = estimate("object_size_mb=2048,1024", "ephemeral_storage_mb=4096", "concurrency_value=1", seed=seed)
    by_hand = 2 * estimated.total_s / 3600 / 730 * 0.023  # GB at the most, hours of a month, USD for a GB-month
    assert usd(estimated, "S3", "storage of the object") == pytest.approx(by_hand)


def test_a_local_sweep_is_said_to_cost_nothing_here_and_what_it_would_on_aws():
    local = estimate(target="local")
    assert local.sentences()[1].startswith("cost: nothing on this machine; on AWS about 0.11 USD (Lambda")
    on_aws = estimate(*("object_size_mb=64", "ephemeral_storage_mb=512", "concurrency_value=1,5,10"))
    assert local.total_usd == pytest.approx(on_aws.total_usd)
    assert local.total_s < on_aws.total_s


def test_what_a_region_has_no_price_for_is_named_and_priced_as_in_us_east_1():
    assert "prices of eu-central-1 or else us-east-1, 20" in estimate("region=eu-central-1").sentences()[1]
    tokyo = estimate("region=ap-northeast-1")
    assert usd(tokyo, "S3", "GET and HEAD") == pytest.approx(2 * 6660 * 129 * 0.00000037)
    assert usd(tokyo, "Lambda", "requests") == usd(estimate(), "Lambda", "requests")
    stored = tokyo.as_dict()
    assert stored["prices_region"] == "ap-northeast-1"
    assert "lambda_request" in stored["prices_elsewhere"] and "s3_get" not in stored["prices_elsewhere"]


def test_the_price_of_a_day_is_the_last_that_was_known_then():
    assert [read_prices(day=day)["express_put"].usd for day in (None, "2025-06-01", "2023-12")] == [
        0.00000113,
        0.00000113,
        0.0000025,
    ]
    # What is above 512 KB in a request was what these were asked for until April 2025.
    assert read_prices(day="2025-03")["express_upload_gb"].unit == "GB above 512 KB a request"
    assert read_prices(day="2025-04")["express_upload_gb"].unit == "GB"
    before = read_prices(day="2023-10")["express_get"]
    assert (before.usd, before.as_of) == (None, None)
    assert all(
        price.source and bool(price.as_of) == (price.usd is not None) for price in read_prices().by_name.values()
    )


def test_a_budget_below_the_estimate_is_refused_with_the_fix_and_a_local_sweep_costs_nothing():
    with pytest.raises(
        UsageError, match=r"^--budget-usd 5: the sweep's estimated cost is 5\.15 USD .*raise --budget-usd"
    ):
        check_budget(estimate(), 5.0)
    check_budget(estimate(), 6.0)
    check_budget(estimate(), None)
    check_budget(estimate(target="local"), 0.0)


def test_the_polls_of_provisioned_pollers_are_billed_as_the_most_there_can_be():
    cost_estimate = estimate(
        "memory_size=1024", "concurrency_value=100", "provisioned_pollers=null,{minimum=2,maximum=10}"
    )
    [polled_s] = [seconds for name, seconds in cost_estimate.cells_s.items() if "minimum" in name]
    # Ten pollers, ten polls a second each, while their own cell runs and around the sweep.
    by_hand = 10 * 10 * (polled_s + cost_estimate.around_s)
    assert usd(cost_estimate, "SQS", "provisioned pollers, at most") == pytest.approx(by_hand * 0.4e-6)
    [hours] = [item.quantity for item in cost_estimate.items if item.what == "provisioned pollers"]
    assert hours == pytest.approx(10 * (polled_s + cost_estimate.around_s) / 3600)
    assert "provisioned pollers, at most" not in {item.what for item in estimate().items}


# What runs on hosts, and what S3 does by itself


def of(experiment, *settings, target="aws"):
    chosen = EXPERIMENTS[experiment]
    return cost.estimate(make_plan(chosen, target, settings, messages_per_concurrency=chosen.messages_per_concurrency))


def quantity(estimated, what):
    [item] = [entry for entry in estimated.items if entry.what == what]
    return item.quantity


def test_the_published_copy_from_a_host_costs_what_a_sum_by_hand_says():
    estimated = of("copy_host")
    copies = 7 * 219_120
    assert usd(estimated, "S3", "COPY") == pytest.approx(copies * 0.000005)
    assert usd(estimated, "S3", "LIST") == pytest.approx(7 * 221 * 0.000005)  # emptied once a cell
    assert usd(estimated, "KMS", "GenerateDataKey and Decrypt") == pytest.approx(copies * 2 * 0.027 * 0.000003)
    # One type and one stack: the host is up for all of the sweep.
    assert usd(estimated, "EC2", "hosts, m5a.8xlarge") == pytest.approx(estimated.total_s / 3600 * 1.376)
    assert usd(estimated, "VPC", "interface endpoints") == pytest.approx(estimated.total_s / 3600 * 4 * 0.01)
    # One message of emptying and one of copies a cell: sent in a batch of their own, received and deleted.
    assert quantity(estimated, "send, receive, delete") == 7 * (1 + 1 + 2 * 2)


def test_each_instance_type_is_billed_for_the_time_of_its_own_cells():
    both = of("copy_host", "instance_type=m5a.4xlarge,m5a.12xlarge", "parallel_limit=100,800")
    hours = {name: quantity(both, f"hosts, {name}") for name in ("m5a.4xlarge", "m5a.12xlarge")}
    assert sum(hours.values()) == pytest.approx(both.total_s / 3600)
    own = {name: sum(s for cell, s in both.cells_s.items() if name in cell) / 3600 for name in hours}
    around = {name: (hours[name] - own[name]) * 3600 for name in hours}
    # What stands around the cells is billed to the type that is put up first.
    assert sorted(around.values()) == [pytest.approx(0), pytest.approx(both.around_s)]
    assert usd(both, "EC2", "hosts, m5a.4xlarge") == pytest.approx(hours["m5a.4xlarge"] * 0.688)
    assert usd(both, "EC2", "hosts, m5a.12xlarge") == pytest.approx(hours["m5a.12xlarge"] * 2.064)


def test_an_instance_type_without_a_price_stays_in_the_bill_and_no_budget_is_promised_with_it():
    estimated = of("copy_host", "instance_type=c7i.8xlarge", "parallel_limit=100")
    [hosts] = estimated.unpriced
    assert (hosts.what, hosts.usd, hosts.price) == ("hosts, c7i.8xlarge", None, "ec2_hour:c7i.8xlarge")
    assert any(line.startswith("not counted: hosts, c7i.8xlarge, 0.") for line in estimated.sentences())
    with pytest.raises(UsageError, match=r"can't be guaranteed, because the price of hosts, c7i\.8xlarge is unknown"):
        check_budget(estimated, 1000.0)


def test_a_manifest_shared_by_functions_is_emptied_once_a_cell_by_a_message_of_its_own():
    estimated = of("copy", "from_manifest=true", "object_count=10000", "concurrency_value=5", "parallel_limit=100")
    assert quantity(estimated, "requests") == 10 + 1
    assert quantity(estimated, "COPY") == pytest.approx(10_000)
    assert quantity(estimated, "compute, x86_64") == pytest.approx((10 * ONE_S + 10_000 / 3500 + 0.2 + 5 * 1) * 0.5)
    # Ten slices by five functions.
    [seconds] = estimated.cells_s.values()
    assert seconds == pytest.approx(30 + 10_000 / 3500 + 0.2 + 2 * ONE_S + 15)
