"""The saved queries that need no record, over lines as Lambda has written them for other people's functions."""

import json
import math

import pytest

from stampede.checkout import QUERIES, ROOT
from stampede.cli.verbs.query import _PLATFORM_FIELD
from stampede.insights import evaluate
from tests.unit.insights.download_log import event

ID = "276ff3b9-1609-4ee7-a288-db375263076"
COLD = (
    "REPORT RequestId: 5009fcc8-5032-41fd-9a62-fc133fe04d67\tDuration: 2.37 ms\tBilled Duration: 427 ms\t"
    "Memory Size: 1024 MB\tMax Memory Used: 95 MB\tInit Duration: 423.98 ms\t\n"
    "XRAY TraceId: 1-6ac7d554-62c6be2f6c1bd8032dac9acf\tSegmentId: 854892f93105b5ae\tSampled: true\t\n"
)
WARM = (
    "REPORT RequestId: {}\tDuration: {}.00 ms\tBilled Duration: {} ms\tMemory Size: 512 MB\tMax Memory Used: {} MB\t\n"
)
OUT_OF_MEMORY = (
    f"REPORT RequestId: {ID}1\tDuration: 10935.70 ms\tBilled Duration: 10936 ms\tMemory Size: 1024 MB\t"
    "Max Memory Used: 1024 MB\tStatus: error\tError Type: Runtime.OutOfMemory\n"
)
TIMED_OUT = (
    f"REPORT RequestId: {ID}2\tDuration: 3000.00 ms\tBilled Duration: 3000 ms\tMemory Size: 1024 MB\t"
    "Max Memory Used: 64 MB\tStatus: timeout\n"
)
# As timeouts and kills were logged before: a line of its own, and a REPORT line without a status.
EARLIER = (
    f"2025-01-12T16:40:03.300Z {ID}3 Task timed out after 3.00 seconds\n\n",
    WARM.format(f"{ID}3", 3000, 3000, 70),
    f"RequestId: {ID}4 Error: Runtime exited with error: signal: killed\nRuntime.ExitError\n",
    f"RequestId: {ID}5 Error: Runtime exited with error: exit status 1\nRuntime.ExitError\n",
)
NOT_IMPORTED = (
    f"REPORT RequestId: {ID}6\tDuration: 95.78 ms\tBilled Duration: 96 ms\tMemory Size: 512 MB\t"
    "Max Memory Used: 39 MB\tStatus: error\tError Type: Runtime.ImportModuleError\n"
)
INIT = "INIT_REPORT Init Duration: 83.58 ms\tPhase: invoke\tStatus: error\tError Type: Runtime.ImportModuleError\n"
OF_THE_HANDLER = ("the upstream said Status: timeout", '{"message": "Task timed out after 3.00 seconds"}')


def ask(name: str, *lines: str) -> list[dict]:
    events = [event(line, logStream="s") for line in lines]
    return evaluate((QUERIES / "common" / f"{name}.cwli").read_text(), events).rows


@pytest.mark.parametrize("name", ["billed", "billing", "durations", "failures", "memory"])
def test_of_a_run_they_see_the_lines_of_lambda_which_name_no_run(name):
    assert _PLATFORM_FIELD.search((QUERIES / "common" / f"{name}.cwli").read_text())


def test_durations_keep_cold_starts_apart_and_give_their_initialisation():
    warm = [WARM.format(f"{ID}{at}", at, at + 1, 70) for at in range(1, 5)]
    slow, cold = ask("durations", COLD, *warm)
    assert (slow["memory_size_mb"], slow["cold"], slow["invocations"], slow["max_ms"]) == (512, 0, 4, 4)
    assert (cold["memory_size_mb"], cold["cold"], cold["p50_ms"], cold["billed_p50_ms"]) == (1024, 1, 2.37, 427)
    assert cold["max_init_ms"] == 423.98
    assert "max_init_ms" not in slow


def test_memory_counts_who_used_all_and_says_what_leaves_a_fifth_free():
    warm = [WARM.format(f"{ID}{at}", 5, 5, used_mb) for at, used_mb in ((7, 300), (8, 200))]
    small, full = ask("memory", OUT_OF_MEMORY, TIMED_OUT, *warm)
    assert (small["invocations"], small["max_used_mb"], small["used_all"]) == (2, 300, 0)
    assert small["enough_mb"] == math.ceil(1.2 * 300)
    assert (full["max_used_percent"], full["used_all"], full["p50_used_mb"]) == (100, 1, 64)


def test_failures_are_counted_once_a_request_by_kind_and_not_read_off_what_a_handler_logs():
    rows = ask("failures", COLD, OUT_OF_MEMORY, TIMED_OUT, *EARLIER, NOT_IMPORTED, INIT, *OF_THE_HANDLER)
    assert [(row["kind"], row.get("memory_size_mb"), row["invocations"]) for row in rows] == [
        ("Runtime.ImportModuleError", 512, 1),
        ("Runtime.ImportModuleError", None, 1),
        ("exited", None, 1),
        ("killed, usually for memory", None, 1),
        ("out of memory", 1024, 1),
        ("timed out", 1024, 1),
        ("timed out", None, 1),
    ]
    assert rows[1]["example"] == INIT


def test_a_request_with_both_lines_is_one_failure():
    both = f"RequestId: {ID}1 Error: Runtime exited with error: signal: killed\nRuntime.ExitError\n"
    assert [(row["kind"], row["invocations"]) for row in ask("failures", OUT_OF_MEMORY, both)] == [("out of memory", 1)]


def test_billing_is_gb_seconds_at_the_listed_prices_and_the_request():
    prices = json.loads((ROOT / "stampede/planning/cost/prices.json").read_text())["regions"]["us-east-1"]
    [row] = ask("billing", WARM.format(f"{ID}1", 100, 100, 70), WARM.format(f"{ID}2", 300, 300, 70))
    assert (row["billed_s"], row["gb_seconds"]) == pytest.approx((0.4, 0.2))
    for architecture in ("x86_64", "arm64"):
        each = 0.1 * prices[f"lambda_gb_s_{architecture}"]["usd"] + prices["lambda_request"]["usd"]
        assert row[f"usd_per_million_{architecture}"] == pytest.approx(1_000_000 * each)
