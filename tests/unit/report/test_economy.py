"""What pays, by memory and by the size of an object, of runs whose seconds and bills are set."""

import json
import re

import pytest

from experiments import EXPERIMENTS
from stampede.report.analysis import analyse
from stampede.report.run import load
from tests.contract import synthetic

PRICES = {"lambda_gb_s_x86_64": 1e-5, "lambda_request": 2e-7, "s3_get": 4e-7, "s3_put": 5e-6, "express_put": 1e-6}
PRICES |= {"express_get": 4e-8, "express_upload_gb": 0.003, "express_read_gb": 0.001, "s3_transfer_gb": 0}
ON_AWS = {"target": "aws", "cost": {"prices": PRICES}}
# Seconds by memory: in proportion to it, and then hardly less.
BY_MEMORY = {512: 2.0, 1024: 1.0, 2048: 0.3, 3008: 0.2}


def rewrite(path, change):
    path.write_text("".join(change(line) for line in path.read_text().splitlines(keepends=True)))


def of_memory(tmp_path, change=lambda folder: None, seconds=BY_MEMORY, **keys):
    """The findings by memory of 30 invocations each."""
    settings = ["memory_size=" + ",".join(map(str, seconds)), "concurrency_value=1", "architecture=x86_64"]
    takes = {"takes": lambda demand: seconds[demand.memory_mb], "per_n": 30}
    folder = synthetic.write(tmp_path / "run", EXPERIMENTS["function"], settings, **takes, **ON_AWS, **keys)
    change(folder)
    findings = analyse(load(folder)).findings
    return {finding.subject["memory_size_mb"]: finding for finding in findings if finding.kind == "memory"}


def billed(milliseconds):
    """Every invocation is billed as many."""
    return lambda folder: rewrite(
        folder / "log_events.jsonl",
        lambda line: re.sub(r"Billed Duration: \d+", f"Billed Duration: {milliseconds}", line),
    )


def test_the_fastest_the_cheapest_and_the_balanced_memory_have_their_titles(tmp_path):
    findings = of_memory(tmp_path)
    titles = {memory: finding.titles for memory, finding in findings.items()}
    assert titles == {
        512: {},
        1024: {},
        2048: {"cheapest": False, "balanced": False},
        3008: dict.fromkeys(("fastest", "cheapest", "balanced"), False) | {"fastest": True},
    }
    assert {finding.baseline["memory_size_mb"] for finding in findings.values()} == {3008}
    assert findings[512].ratio.value == pytest.approx(0.1, rel=0.1)


def test_of_equal_memories_none_holds_a_title_alone(tmp_path):
    findings = of_memory(tmp_path, seconds=dict.fromkeys(BY_MEMORY, 1.0)).values()
    assert {finding.titles["fastest"] for finding in findings} == {False}


def test_what_an_invocation_costs_is_what_lambda_billed_else_its_time_rounded_up(tmp_path):
    findings = of_memory(tmp_path, billed(250))
    assert {memory: finding.usd for memory, finding in findings.items()} == {
        memory: pytest.approx(0.2 + 0.25 * memory / 1024 * 10) for memory in BY_MEMORY
    }


def test_a_memory_that_lost_messages_holds_no_title_where_another_lost_none(tmp_path):
    def lose(folder):
        with (folder / "sent.jsonl").open("a") as sent:
            cell = "memory_size=3008,concurrency_value=1"
            sent.write(json.dumps({"cell": cell, "seq": 99, "message_id": "lost"}) + "\n")

    findings = of_memory(tmp_path, lose)
    assert findings[3008].titles == {} and "never succeeded" in findings[3008].why
    assert findings[2048].titles["fastest"]


def of_sizes(tmp_path, change=lambda row: {}, **keys):
    """The findings by size of a run in which the quick class takes half as long."""
    takes = {"standard": 1.0, "express": 0.5}
    folder = synthetic.write(
        tmp_path / "run",
        EXPERIMENTS["express"],
        ["architecture=x86_64"],
        takes=lambda demand: takes[demand.cell.values["storage_class"]],
        **(ON_AWS | keys),
    )
    rewrite(folder / "records.jsonl", lambda line: json.dumps(json.loads(line) | change(json.loads(line))) + "\n")
    findings = [finding for finding in analyse(load(folder)).findings if finding.kind == "size"]
    return {
        tuple(finding.subject[name] for name in ("operation", "object_bytes", "parallel_limit")): finding
        for finding in findings
    }


def test_each_size_says_how_many_times_as_fast_and_as_cheap_the_median_object_is(tmp_path):
    def stalling(row):
        """The last operation of each cell does."""
        seconds = 9.0 if row["seq"] == 11 else {"standard": 1.0, "express": 0.5}[row["storage_class"]]
        return {"elapsed_seconds": seconds} if row["status"] == "ok" else {}

    findings = of_sizes(tmp_path, stalling)
    finding = findings["download", 1000, 1]
    assert (finding.ratio.value, finding.among) == (2, 2 * len(findings))
    assert {finding.baseline["storage_class"] for finding in findings.values()} == {"standard"}
    # A request, its bytes, and the function's seconds for an object of those that an operation moves.
    second_usd = 1e-5 * 2048 / 1024 * 1000 / 2**20
    usd = 4e-8 + 1000 / 2**30 * 0.001 + second_usd * 0.5
    assert finding.usd == pytest.approx(usd * 1e6)
    assert finding.cheaper.value == pytest.approx((4e-7 + second_usd) / usd)


def test_a_class_that_moves_more_in_an_operation_is_that_much_faster(tmp_path):
    alike = of_sizes(tmp_path / "alike")["download", 1000, 1]
    more = of_sizes(
        tmp_path / "more", lambda row: {"bytes": row["bytes"] * (3 if row["storage_class"] == "express" else 1)}
    )
    assert more["download", 1000, 1].ratio.value == pytest.approx(3 * alike.ratio.value)


@pytest.mark.parametrize(("keys", "why"), [({"target": "local"}, "stand-in"), ({"cost": {}}, "")])
def test_no_class_is_cheaper_where_a_stand_in_ran_or_no_price_is_there(tmp_path, keys, why):
    for finding in of_sizes(tmp_path, **keys).values():
        assert why in finding.why and (finding.ratio is None) is bool(why)
        assert finding.usd is None and finding.cheaper is None
