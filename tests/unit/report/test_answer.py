"""A run's headline: one case for each pattern."""

import re
from math import prod

import pytest

from experiments import EXPERIMENTS
from stampede.report.answer import say
from tests.contract import synthetic
from tests.contract.pages import unseen
from tests.unit.report import handmade_run
from tests.unit.report.handmade_run import analysed, error, lasting, record

ONE_CELL = ("memory_size=1024", "concurrency_value=2")
BY_N = ("memory_size=1024", "concurrency_value=1,10")
MEMORIES = ("memory_size=1024,2048", "concurrency_value=1")
METHODS = ("method=download_file,ranges", "sink=memory")
THREE = ("method=download_file,ranges,stream", "sink=memory")
LIMITS = ("parallel_limit=1,10,100",)
CLASSES = ("storage_class=standard,express", "object_bytes=1000,100000000", "operation=upload")
AT_10, LEAST = {"concurrency_value": 10}, {"memory_size": 1024}
RANGES, STREAM = {"method": "ranges"}, {"method": "stream"}
ALONE, MANY = {"parallel_limit": 1}, {"parallel_limit": 100}
EXPRESS = {"storage_class": "express"}
SMALL, LARGE = {"object_bytes": 1000}, {"object_bytes": 100_000_000}


CASES = [
    (
        "download",
        "aws",
        ONE_CELL,
        [],
        r"^A download of 64 MiB takes \S+ s at N = 2 \(95 % CI .*; 24 of 24 succeeded",
    ),
    (
        "download",
        "aws",
        BY_N,
        [(AT_10, 1.25)],
        r"^N = 10: each function keeps 87 % .*alone .*CI 79 to 92",
    ),
    ("download", "local", BY_N, [(AT_10, 8)], r"^Local test, not AWS: .* alone and [78]\.\d+ s"),
    ("download", "endpoint", BY_N, [], r"^An endpoint, not AWS: "),
    ("download", "aws", MEMORIES, [], r"^With 2,048 MB .* with 1,024 MB"),
    (
        "download",
        "aws",
        (*ONE_CELL, *METHODS),
        [(RANGES, 0.5)],
        r"^ranges is [12]\.\d+ times as fast",
    ),
    (
        "download",
        "aws",
        (*BY_N, *THREE),
        [(RANGES, 0.5), (STREAM, 0.5)],
        r"^No clear winner at N = 10: ",
    ),
    (
        "download",
        "aws",
        (*BY_N, *METHODS),
        [(RANGES, 2), (RANGES | AT_10, 0.25)],
        r"^The order .* ranges with N = 10",
    ),
    (
        "download",
        "aws",
        (*MEMORIES, *METHODS),
        [(RANGES | LEAST, 0.5)],
        r"^ranges is .* in 1 of 2 cases",
    ),
    ("copy", "aws", LIMITS, [(ALONE, 4), (MANY, 1.5)], r"^Up to 10 parallel calls help: .*no gain"),
    (
        "copy",
        "aws",
        LIMITS,
        [(ALONE, 1.13), (MANY, 1.0)],
        r"^1 to \d+ parallel calls, .* may be enough",
    ),
    ("copy", "aws", LIMITS, [(ALONE, 4), (MANY, 0.5)], r"^More parallel calls help up to 100"),
    (
        "express",
        "aws",
        CLASSES,
        [(EXPRESS | SMALL, 0.5), (EXPRESS | LARGE, 2)],
        r"^express against standard: .* 1 KB",
    ),
    (
        "function",
        "aws",
        MEMORIES,
        [(LEAST, 1.3)],
        r"^At N = 1, 1,024 MB is the cheapest.* 2,048 MB is the fastest",
    ),
    (
        "filesystem",
        "local",
        ("dataset=small",),
        [],
        r"folder stood in for efs, so the times say nothing about efs",
    ),
]


def seconds_of(factors):
    """A cell takes 1 second, times the factor of each part that it has."""
    return lambda demand: prod(
        factor for part, factor in factors if part.items() <= demand.cell.values.items()
    )


@pytest.mark.parametrize(("name", "target", "settings", "factors", "words"), CASES)
def test_the_headline_is_what_the_figures_say_and_has_no_other_number(
    tmp_path, name, target, settings, factors, words
):
    keys = {"target": target, "takes": seconds_of(factors)}
    analysis = analysed(synthetic.write(tmp_path / "run", EXPERIMENTS[name], settings, **keys))
    headline = say(analysis).headline
    assert re.search(words, headline), headline
    assert unseen(analysis, headline) == set(), headline


FAILED = [
    error(0, 100, seq=seq, error_message="app.handler can't be imported") for seq in range(11)
]
AT_ONCE = [record(0, 1000, n=3, seq=seq) for seq in range(3)]


@pytest.mark.parametrize(
    ("records", "words"),
    [
        (
            lasting([0.1] * 11 + [1.1]),
            "A download of 976.6 KiB takes 0.100 s at N = 1",
        ),  # the median
        (FAILED, "All 11 messages failed: app.handler can't be imported."),
        ([], "No download is on record."),
        (
            AT_ONCE + lasting([0.1, 0.11] * 6, n=10),
            "N = 10 was not reached: 1 ran at once at most; a download of 976.6 KiB takes 0.105 s.",
        ),
    ],
)
def test_the_answer_of_a_run_counted_by_hand(tmp_path, records, words):
    folder = handmade_run.write(tmp_path / "run", records, [3, 10])
    assert say(analysed(folder)).headline.startswith(words)


def test_a_choice_that_lost_messages_is_not_ranked(tmp_path):
    def fails(row):
        is_lost = row["method"] == "ranges" and row["seq"] in (1, 2)
        return {"status": "error", "error_type": "Ended"} if is_lost else {}

    keys = {"target": "aws", "takes": seconds_of([(RANGES, 0.5)])}
    settings = (*BY_N[:1], "concurrency_value=1", *METHODS)
    folder = synthetic.write(tmp_path / "run", EXPERIMENTS["download"], settings, **keys)
    synthetic.change_records(folder, fails)
    answer = say(analysed(folder))
    assert answer.headline.startswith("ranges lost 2 of 12 messages, and download_file none")
    assert any("later delivery" in caveat for caveat in answer.caveats)


def test_an_n_that_lost_messages_is_not_compared_with_one_that_lost_none(tmp_path):
    folder = synthetic.write(tmp_path / "run", EXPERIMENTS["download"], BY_N, target="aws")
    fails = {"status": "error", "error_type": "Ended"}
    synthetic.change_records(
        folder, lambda row: fails if row["concurrency_limit"] == 10 and row["seq"] % 4 == 1 else {}
    )
    assert re.match(
        r"N = 10 lost \d+ of 120 messages, and N = 1 none", say(analysed(folder)).headline
    )


def test_no_speed_is_claimed_if_most_objects_failed(tmp_path):
    folder = synthetic.write(tmp_path / "run", EXPERIMENTS["copy"], ["parallel_limit=10"])
    synthetic.change_records(folder, lambda row: {"copied": 1, "failed": row["planned"] - 1})
    assert re.search(r"[\d,]+ of 996 objects failed", say(analysed(folder)).headline)


def test_a_cell_that_ran_at_n_for_a_short_time_is_named(tmp_path):
    brief = [record(0, 200, n=2, seq=0), record(100, 1000, n=2, seq=1)]
    records = [*brief, *(record(0, 200, n=3, seq=seq) for seq in range(3))]
    folder = handmade_run.write(tmp_path / "run", records, [2, 3])
    [caveat] = [line for line in say(analysed(folder)).caveats if "part of the time" in line]
    assert "10.0 %" in caveat and "N = 2" in caveat and "N = 3" not in caveat


def test_there_are_at_most_five_caveats_the_most_important_first(tmp_path):
    alone = lasting([0.1] * 11, sdk="botocore 1.0")[1:]
    too_many = [record(0, 200, n=2, seq=seq, sdk="botocore 2.0") for seq in range(10)]
    records = [*FAILED[:1], *alone, *too_many, error(0, 200, n=2, seq=10)]
    folder = handmade_run.write(tmp_path / "run", records, [1, 2])
    (folder / "evidence.json").write_text('{"checks": [{"id": "redelivery", "contradicted": 1}]}')
    keys = ["assumes of AWS", "2 of 22 messages", "11 with", "drift", "botocore 1.0 and 2.0"]
    lines = say(analysed(folder)).caveats
    assert len(lines) == 5 and all(key in line for key, line in zip(keys, lines, strict=True)), (
        lines
    )
