"""The headline of the function experiment: cold starts, which are few and slow, decide nothing that it says."""

import json
import random

import pytest

from experiments import EXPERIMENTS
from stampede.report.run import load
from stampede.report.statistics import statistics
from tests.contract import synthetic

FUNCTION = EXPERIMENTS["function"]


@pytest.fixture
def headline(tmp_path):
    """The headline of a run, by default of invocations of a second; the first of each sandbox takes 2 to 8 times as
    long, or `cold(record)` times. `payload(record)` numbers the payloads."""

    def made(*settings, takes=lambda cell: 1.0, per_n=11, cold=None, payload=lambda row: 0, **keys):
        folder = synthetic.write(tmp_path / "run", FUNCTION, settings, takes=takes, per_n=per_n, **keys)
        rows, dice = [json.loads(line) for line in (folder / "records.jsonl").open()], random.Random(1)
        for row in rows:
            row |= {"start": "cold" if row["cold_start"] else "warm", "payload": payload(row), "round": 1}
            if row["cold_start"] and row["status"] == "ok":
                row["elapsed_seconds"] *= cold(row) if cold else dice.uniform(2, 8)
        (folder / "records.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        made.verdict = statistics(load(folder))["verdict"]
        return made.verdict["headline"]

    return made


def test_throughput_at_n_is_that_of_warm_invocations(headline):
    held = headline("memory_size=1024", "concurrency_value=15,30")
    assert held.startswith(
        "On this machine, median throughput per function holds within 10 % from N = 15 to N = 30: the median"
    )
    assert "series" not in held and "cold" not in held


@pytest.mark.parametrize(
    ("concurrencies", "words"),
    [
        (
            "15,30",
            "On this machine, median throughput per function holds within 10 % from N = 15 to N = 30, with 1,024 MB "
            "and 1,769 MB, thumbnail, x86_64 warm start; the embedded AWS ignores memory, so no size is named.",
        ),
        ("30", "so it says nothing about memory; only N = 30 ran, so whether throughput holds is unknown."),
    ],
)
def test_a_local_sweep_of_memory_says_why_no_size_is_named_and_whether_throughput_holds(headline, concurrencies, words):
    assert headline("memory_size=1024,1769", f"concurrency_value={concurrencies}").endswith(words)


def test_where_warm_invocations_are_too_few_it_says_so_and_counts_those(headline):
    few = headline("memory_size=1024", "concurrency_value=1,20", per_n=5)
    assert few.startswith("How invocations at N = 20 compare with N = 1 is unknown: each side needs 10 measurements, ")
    assert few.endswith("but they have 81 and 5 (warm starts only).")


def test_which_package_is_faster_is_read_off_warm_invocations(headline):
    settings = ("memory_size=1024", "package=a,b", "concurrency_value=10,20")
    faster = headline(*settings, takes=lambda demand: 0.7 if demand.cell.values["package"].endswith("b") else 1.0)
    assert faster.startswith("On this machine, b is the fastest with 1,024 MB, N = 20, x86_64 warm start: 1.")


@pytest.mark.parametrize(("per_n", "few"), [(20, ""), (5, " (5 measurements)")])
def test_a_cell_alone_isnt_compared_with_its_own_cold_starts(headline, per_n, few):
    only = headline("memory_size=1024", "concurrency_value=1", per_n=per_n)
    assert (
        f" invocations/s on average{few} " in only.replace("(the median", "x")
        and "warm start; only one cell ran" in only
    )


def test_cold_starts_name_no_memory(headline):
    on_aws = {"target": "aws", "account": {"region": "us-east-1"}}
    few = headline("memory_size=512,1024", "concurrency_value=30", per_n=1, cold=lambda row: 1, **on_aws)
    assert few.startswith("How invocations at 1,024 MB compare with 512 MB is unknown: each side needs 10 measurements")
    assert few.endswith("but they have 1 and 1 (warm starts only).")


def test_series_that_cannot_be_compared_are_counted(headline):
    rare = {"payload": lambda row: int(row["seq"] % 11 > 8)}
    held = headline("memory_size=1024", "concurrency_value=2,20", **rare)
    assert held.endswith("with 1,024 MB, thumbnail, x86_64 warm start (1 of 2 series can’t be compared).")


@pytest.mark.parametrize(
    ("repeats", "named", "drift"),
    [(1, True, "a difference may be drift; there were no repeats"), (5, False, "contain")],
)
def test_equal_packages_on_a_machine_that_drifts_are_told_apart_only_without_repeats(headline, repeats, named, drift):
    dice, seconds = random.Random(3), [1.0]

    def drifting(cell):
        seconds.append(seconds[-1] * dice.lognormvariate(0, 0.25))
        return seconds[-1]

    only = headline("memory_size=1024", "package=a,b", "concurrency_value=2", takes=drifting, repeats=repeats)
    assert (" is the fastest " in only, only.endswith("; this may be drift (--repeats 5).")) == (named, named), only
    assert any(drift in caveat for caveat in headline.verdict["caveats"])
