"""What pays, by memory and by object size, in runs with given seconds and bills."""

import json
import re

import pytest

from experiments import EXPERIMENTS
from tests.contract import synthetic
from tests.unit.report.handmade_run import analysed

# Seconds by memory: at first in proportion to it, then hardly less.
BY_MEMORY = {512: 2.0, 1024: 1.0, 2048: 0.3, 3008: 0.2}
BY_CLASS = {"standard": 1.0, "express": 0.5}
ALONE = {"cheapest": False, "balanced": False}


def of_memory(folder, change=lambda folder: None, seconds=BY_MEMORY):
    """The findings by memory of 30 invocations each."""
    settings = [
        "memory_size=" + ",".join(map(str, seconds)),
        "concurrency_value=1",
        "architecture=x86_64",
    ]
    keys = {"takes": lambda demand: seconds[demand.memory_mb], "per_n": 30, "target": "aws"}
    synthetic.write(folder, EXPERIMENTS["function"], settings, **keys)
    change(folder)
    findings = [finding for finding in analysed(folder).findings if finding.kind == "memory"]
    return {finding.subject["memory_size_mb"]: finding for finding in findings}


def test_the_fastest_the_cheapest_and_the_balanced_memory_have_their_titles(tmp_path):
    findings = of_memory(tmp_path / "run")
    titles = {memory: finding.titles for memory, finding in findings.items()}
    assert titles == {512: {}, 1024: {}, 2048: ALONE, 3008: ALONE | {"fastest": True}}
    assert findings[512].baseline["memory_size_mb"] == 3008
    assert findings[512].ratio.value == pytest.approx(0.1, rel=0.1)
    # Equal sizes share a title.
    equals = of_memory(tmp_path / "equal", seconds=dict.fromkeys(BY_MEMORY, 1.0)).values()
    assert {finding.titles["fastest"] for finding in equals} == {False}


def lose_a_message_and_bill_250_ms(folder):
    with (folder / "sent.jsonl").open("a") as sent:
        sent.write(
            json.dumps(
                {"cell": "memory_size=3008,concurrency_value=1", "seq": 99, "message_id": "lost"}
            )
            + "\n"
        )
    events = folder / "log_events.jsonl"
    events.write_text(re.sub(r"Billed Duration: \d+", "Billed Duration: 250", events.read_text()))


def test_an_invocation_costs_what_lambda_billed_and_a_memory_that_lost_messages_has_no_title(
    tmp_path,
):
    findings = of_memory(tmp_path / "run", lose_a_message_and_bill_250_ms)
    costs = {memory: 0.2 + 0.25 * memory / 1024 * 10 for memory in BY_MEMORY}
    assert {memory: finding.usd for memory, finding in findings.items()} == pytest.approx(costs)
    assert findings[3008].titles == {} and "never succeeded" in findings[3008].why
    assert findings[2048].titles["fastest"]


def of_sizes(folder, change=lambda row: {}, **keys):
    """The findings by size of a run in which express takes half as long."""
    keys = {
        "target": "aws",
        "takes": lambda demand: BY_CLASS[demand.cell.values["storage_class"]],
    } | keys
    synthetic.write(folder, EXPERIMENTS["express"], ["architecture=x86_64"], **keys)
    synthetic.change_records(folder, change)
    findings = [finding for finding in analysed(folder).findings if finding.kind == "size"]
    names = ("operation", "object_bytes", "parallel_limit")
    return {tuple(finding.subject[name] for name in names): finding for finding in findings}


@pytest.mark.parametrize("moved", [1, 3])
def test_each_size_says_how_many_times_as_fast_and_as_cheap_the_median_object_is(tmp_path, moved):
    """An express operation that moves several times as much makes each object that much faster."""

    def stalling(row):
        """The last operation of each cell stalls."""
        seconds = 9.0 if row["seq"] == 11 else BY_CLASS[row["storage_class"]]
        return {
            "elapsed_seconds": seconds,
            "bytes": row["bytes"] * (moved if row["storage_class"] == "express" else 1),
        }

    findings = of_sizes(tmp_path / "run", stalling)
    finding = findings["download", 1000, 1]
    assert (finding.ratio.value, finding.among) == (pytest.approx(2 * moved), 2 * len(findings))
    assert finding.baseline["storage_class"] == "standard"
    # A request, its bytes, and the object's share of the function's seconds.
    second_usd = 1e-5 * 2048 / 1024 * 1000 / 2**20
    usd = 4e-8 + 1000 / 2**30 * 0.001 + second_usd * 0.5 / moved
    assert finding.usd == pytest.approx(usd * 1e6)
    assert finding.cheaper.value == pytest.approx((4e-7 + second_usd) / usd)


@pytest.mark.parametrize(("keys", "why"), [({"target": "local"}, "stand-in"), ({"cost": {}}, "")])
def test_no_class_is_cheaper_where_a_stand_in_ran_or_no_price_is_there(tmp_path, keys, why):
    for finding in of_sizes(tmp_path / "run", **keys).values():
        assert why in finding.why and (finding.ratio is None) is bool(why)
        assert finding.usd is finding.cheaper is None
