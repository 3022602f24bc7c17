"""Every number of statistics.json, counted again by a script that shares no code with the report."""

import json
import random
from pathlib import Path

import pytest

from stampede.report import load, statistics
from tests.unit.report import handmade_run, recompute, synthetic_run
from tests.unit.report.handmade_run import error, lasting, record

HALVES = {"memory_size": [1024, 2048], "concurrency_value": [1, 2]}


def write_statistics(directory: Path) -> dict:
    numbers = statistics.statistics(load(directory))
    (directory / "statistics.json").write_text(statistics.to_text(numbers), encoding="utf-8")
    return numbers


SYNTHETIC = {
    "a clean run": {},
    "errors, retries, duplicates and losses": {
        "per_n": 20,
        "failing": {3},
        "retried": {2, 5},
        "duplicated": {4},
        "lost": {7},
    },
    "repeats and warm-ups": {"concurrencies": (1, 4), "repeats": 3, "warm_ups": 2, "duplicated": {1}},
    "a ramp": {"memories": (1024,), "concurrencies": (1, 40), "base_s": 0.8, "slope": 0.0, "ramp_per_s": 9.0},
    "cells never run": {"unfinished": 2},
    "only errors": {"concurrencies": (1, 5), "failing": set(range(100))},
    "no record at all": {"concurrencies": (1, 5), "lost": set(range(100))},
    "enough for p99": {"memories": (1024,), "concurrencies": (1, 100), "slope": 0.0},
}


@pytest.mark.parametrize("settings", SYNTHETIC.values(), ids=SYNTHETIC)
def test_every_number_of_a_synthetic_run_can_be_recomputed(tmp_path, settings):
    directory = synthetic_run.write(tmp_path / "run", synthetic_run.Synthetic(**settings))
    write_statistics(directory)
    assert recompute.mismatches(directory) == []


HANDMADE = {
    "one record": [record(0, 1000)],
    "never at full N": [record(200 * at, 200 * at + 300, n=3, seq=at) for at in range(15)],
    "all at once": [record(0, 1000 + at, n=20, seq=at) for at in range(20)],
    "more than N at once": [record(at, 900 + at, n=2, seq=at) for at in range(12)],
    "sizes differ": [record(at * 10, at * 10 + 9, seq=at, bytes=1000 + at) for at in range(25)],
    "bytes unknown": [record(at * 10, at * 10 + 9, seq=at, bytes=None) for at in range(12)],
    "no usable times": [record(0, 5, seq=at, started_at_ms=None) for at in range(12)],
    "ends before it starts": [record(5, 5, seq=1), record(9, 7, seq=2), record(10, 20, seq=3)],
    "no seq": [record(at * 10, at * 10 + 9, seq=None) for at in range(12)],
    "all alike": lasting([0.5] * 40) + lasting([0.5] * 40, n=2) + lasting([0.25] * 40, n=4),
    "strangers": [record(0, 90), error(2, 3, cell=None, seq=None), error(0, 1, memory_size=None, cell=None)],
    "cold and warm": [
        record | {"cold_start": int(record["seq"] < 12)}
        for record in lasting([0.1 + (at * 37 % 11) / 100 for at in range(40)])
    ],
    "fast and slow": lasting([0.1 + at / 1000 for at in range(30)])
    + lasting([0.1 + at / 900 for at in range(30)], n=2)
    + lasting([0.1 + at / 700 for at in range(30)], memory=2048),
    "no time at all": lasting([0.0] * 12) + lasting([0.1] * 12, n=2),
}


@pytest.mark.parametrize("records", HANDMADE.values(), ids=HANDMADE)
def test_every_number_of_an_odd_run_can_be_recomputed(tmp_path, records):
    directory = handmade_run.write(tmp_path / "run", records, HALVES)
    write_statistics(directory)
    assert recompute.mismatches(directory) == []


def test_a_run_without_any_other_file_can_be_recomputed(tmp_path):
    directory = handmade_run.write(tmp_path / "run", lasting([0.5] * 12))
    (directory / "run.json").unlink()
    (directory / "sent.jsonl").unlink()
    numbers = write_statistics(directory)
    assert numbers["target"] == "unknown"
    assert numbers["cells"][0]["sent"] is None
    assert recompute.mismatches(directory) == []


def numeric_leaves(value, path=()):
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in items:
        if type(part) in (int, float):
            yield (*path, name)
        else:
            yield from numeric_leaves(part, (*path, name))


def test_the_recomputation_notices_any_number_that_is_changed(tmp_path):
    directory = synthetic_run.write(
        tmp_path / "run",
        synthetic_run.Synthetic(concurrencies=(1, 12), per_n=12, repeats=2, failing={3}, warm_ups=1),
    )
    numbers = write_statistics(directory)
    elsewhere = {"rules", "verdict", "low", "high"}  # see recompute.py
    leaves = [path for path in numeric_leaves(numbers) if not elsewhere & set(path)]
    expected = recompute.Recomputation(directory).expected()
    assert list(recompute.compare("statistics", expected, numbers)) == []
    for path in random.Random(1).sample(leaves, 80):
        changed = json.loads(json.dumps(numbers))
        place = changed
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = place[path[-1]] * 1.5 + 1
        assert list(recompute.compare("statistics", expected, changed)), path


def test_the_recomputation_imports_nothing_of_ours():
    for module in Path(recompute.__file__).parent.glob("recompute*.py"):
        imports = [line for line in module.read_text().splitlines() if line.startswith(("import ", "from "))]
        words = {line.split()[1].split(".")[0] for line in imports}
        assert not words & {"experiments", "loader", "stampede"}, module
