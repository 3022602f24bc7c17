"""Cost, unfinished cells, and how numbers are written."""

import json

import pytest

from stampede import phrases, report
from stampede.report import unfinished
from stampede.report.run import load
from stampede.report.sections import cost
from tests.unit.report.page_parser import Page


def changed_manifest(folder, **change):
    manifest = json.loads((folder / "run.json").read_text()) | change
    (folder / "run.json").write_text(json.dumps(manifest))
    return load(folder)


def test_what_a_run_cost_is_said_where_aws_was_paid_and_nowhere_else(make_run, drawn):
    pages = {
        target: Page(report.build(make_run(target, memories=(1024,), concurrencies=(1,), target=target)).read_text())
        for target in ("aws", "local", "endpoint")
    }
    assert "Estimated from the plan: about $0.8786." in pages["aws"].text
    assert [target for target, page in pages.items() if "cost" in page.ids] == ["aws"]


def test_the_cost_names_its_prices_and_what_it_lacks(make_run):
    run = load(make_run())
    words = cost.basis(cost.estimate(run))
    assert "List prices of us-east-1, 2026-05." in words
    assert "Not included because the price is unknown: provisioned pollers." in words
    elsewhere = changed_manifest(run.directory, cost=run.manifest["cost"] | {"region": "eu-west-1"})
    assert "The run was in eu-west-1, whose prices aren’t known." in cost.basis(cost.estimate(elsewhere))
    some = {"region": "eu-west-1", "prices_region": "eu-west-1", "prices_elsewhere": ["s3_get", "s3_put"]}
    partly = changed_manifest(run.directory, cost=run.manifest["cost"] | some)
    assert "Unknown there, so priced as in us-east-1: s3_get, s3_put." in cost.basis(cost.estimate(partly))


def test_every_item_of_the_bill_is_a_line_and_the_sum_is_the_last(make_run):
    folder = make_run(memories=(1024,), concurrencies=(1,), target="aws")
    report.build(folder)
    rows = Page((folder / "report.html").read_text()).rows
    assert ["Lambda", "compute", "52,650", "GB-s", "0.0000166667", "0.8775"] in rows
    assert ["Lambda", "provisioned pollers", "1.5", "poller-hour", "–", "–"] in rows
    assert ["total", "", "", "", "", "0.8786"] in rows


def test_what_costs_less_than_run_json_has_digits_is_not_free(make_run):
    folder = make_run(memories=(1024,), concurrencies=(1,), target="aws")
    item = {"service": "S3", "what": "HEAD", "quantity": 1, "unit": "request", "usd_per_unit": 0.0000004, "usd": 0.0}
    free = item | {"what": "transfer", "usd_per_unit": 0}
    changed_manifest(folder, cost={"total_usd": 0.01, "items": [item, free]})
    report.build(folder)
    costs = {row[1]: row[-1] for row in Page((folder / "report.html").read_text()).rows if row[:1] == ["S3"]}
    assert costs == {"HEAD": "under 0.0001", "transfer": "0.00"}


@pytest.mark.parametrize("stored", [None, {}, [], {"total_usd": "much", "items": []}, {"total_usd": 1.0}])
def test_a_run_without_a_usable_estimate_says_so(make_run, stored):
    run = changed_manifest(make_run(memories=(1024,), concurrencies=(1,)), cost=stored)
    assert cost.estimate(run) is None


@pytest.mark.parametrize(
    "damage",
    [
        {"cells": 3},
        {"cells": [None, {"cell": ["x"]}, 7]},
        {"cost": {"total_usd": float("nan"), "items": []}},
        {"cost": {"total_usd": 1.0, "items": [None, {"quantity": "many"}, {"usd": []}]}},
        {"plan": {"order": [1, None], "swept": {"memory_size": [1]}}},
        {"account": "mine", "versions": [1, [2]], "machine": None, "started_at": 5, "finished_at": "soon"},
    ],
)
def test_a_run_json_with_odd_parts_still_gives_a_whole_page(make_run, damage, drawn):
    folder = make_run(memories=(1024,), concurrencies=(1,))
    changed_manifest(folder, **damage)
    report.build(folder)
    page = Page((folder / "report.html").read_text())
    assert page.faults == []
    assert [row[3] for row in page.rows if len(row) == 12 and row[2] == "this machine"] == ["10"]


def test_a_page_without_an_estimate_is_whole(make_run):
    folder = make_run(memories=(1024,), concurrencies=(1,), target="aws")
    changed_manifest(folder, cost=None)
    report.build(folder)
    assert "This run has no estimate of its cost." in Page((folder / "report.html").read_text()).text


def test_a_finished_run_has_nothing_to_say(make_run):
    assert unfinished.sentences(load(make_run(repeats=2))) == []


def test_a_repeat_that_is_missing_is_named(make_run):
    run = load(make_run(repeats=2, unfinished=1))
    assert unfinished.sentences(run)[0].startswith(
        "1 of 12 planned cells was not finished, so figures are missing or partial: 2,048 MB, N = 10, repeat 2."
    )


def test_many_missing_cells_are_counted(make_run):
    sentence = unfinished.sentences(load(make_run(repeats=2, unfinished=11)))[0]
    assert sentence.startswith("11 of 12 planned cells were not finished, so figures are missing or partial: ")
    assert "; 5 more." in sentence


@pytest.mark.parametrize("plan", [None, [], {}, {"swept": 3}, {"swept": {"memory_size": 3}}])
def test_a_damaged_plan_promises_no_cells(make_run, plan):
    assert unfinished.sentences(changed_manifest(make_run(), plan=plan)) == []


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0, "0 %"), (1, "100 %"), (0.9999, "99.9 %"), (0.00001, "0.1 %"), (0.417, "41.7 %")],
)
def test_a_share_is_all_or_nothing_only_when_it_is(value, text):
    assert phrases.share(value) == text


@pytest.mark.parametrize(
    ("usd", "text"),
    [(None, "price unknown"), (12.345, "12.35"), (0.8786, "0.8786"), (0.00001, "under 0.0001"), (0, "0.00")],
)
def test_dollars_keep_their_meaning_when_small(usd, text):
    assert phrases.dollars(usd) == text


def test_time_spans_and_lists_read_naturally():
    assert [phrases.duration(value) for value in (9.6, 278, 4320)] == ["10 s", "4 min 38 s", "1 h 12 min"]
    spans = {-5: "0 min", 2640: "44 min", 5400: "90 min", 5460: "1 h 31 min", 22_860: "6 h 21 min"}
    assert {value: phrases.minutes(value) for value in spans} == spans
    assert [phrases.listed(list(parts)) for parts in ("", "a", "ab", "abc")] == ["", "a", "a and b", "a, b and c"]
    assert phrases.some(["4 with 512 MB", "5", "6"], most=2) == "4 with 512 MB, 5 and 1 more"
    assert phrases.some(["4 with 512 MB, N = 5", "5", "6"], most=2) == "4 with 512 MB, N = 5; 5; 1 more"
    assert [phrases.signed(value, 2) for value in (1.5, -0.061, -0.001, 0.001)] == ["+1.50", "−0.06", "0.00", "0.00"]


def test_lines_do_not_end_between_a_number_and_its_unit():
    assert phrases.unbroken("at N = 10 1.2 × 64 MiB") == "at N\u00a0=\u00a010 1.2\u00a0× 64\u00a0MiB"
