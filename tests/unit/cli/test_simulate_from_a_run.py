"""`stampede simulate function --run`: what an invocation takes is read from a first cell."""

import json

import pytest

from stampede.cell import FORMAT, Cell
from stampede.cli.command_line import main

RUN_ID = "20261123T120000Z"


def record(concurrency, elapsed_s, **changes):
    return {
        "cell": "a",
        "seq": 0,
        "concurrency_limit": concurrency,
        "elapsed_seconds": elapsed_s,
        "memory_size": 1769,
        "warm_up": 0,
        "status": "ok",
        "started_at_ms": 1_795_000_000_000,
        "init_seconds": None,
        "client_cpu_seconds": 0.1,
    } | changes


def store(results, records, **run):
    folder = results / RUN_ID
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps({"run_id": RUN_ID, "experiment": "function", "target": "aws"} | run))
    (folder / "records.jsonl").write_text("".join(json.dumps(row) + "\n" for row in records))


@pytest.fixture
def simulate(capsys, tmp_path):
    """A function that runs the verb with this results folder; gives status, stdout and stderr."""

    def run(experiment, *options):
        status = main(["simulate", experiment, "--run", RUN_ID, "--results-dir", str(tmp_path), *options])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


def test_processing_goes_with_the_memory_and_waiting_does_not(simulate, tmp_path):
    slower = [record(10, 3.0), record(1, 9.0, warm_up=1), record(1, 9.0, status="error")]
    store(tmp_path, [*slower, *(record(1, 0.3) for _ in range(5))])
    chosen = ("--set", "memory_size=884,1769", "--set", "concurrency_value=1", "--format", "json")
    _, out, _ = simulate("function", *chosen)
    seconds = {row["memory_size_mb"]: row["avg_s"] for row in json.loads(out) if row["start"] == "warm"}
    # 0.1 CPU-s and 0.2 s of waiting; half of a vCPU takes twice as long for the former.
    assert seconds == {1769: pytest.approx(0.3, rel=0.01), 884: pytest.approx(0.4, rel=0.01)}


@pytest.mark.parametrize(
    ("experiment", "run", "records", "words"),
    [
        ("download", {}, [], "--run: the model knows what an operation of download takes; leave it out"),
        ("function", {"experiment": "copy"}, [], f"--run: {RUN_ID} is a run of copy; name one of function"),
        ("function", {}, [record(1, 0.3)], "has fewer than two successful invocations in a cell; name another run"),
    ],
)
def test_a_run_that_says_nothing_of_it_is_refused(simulate, tmp_path, experiment, run, records, words):
    store(tmp_path, records, **run)
    status, _, err = simulate(experiment)
    assert (status, words in err) == (2, True)


def of_packages(*paths):
    """The part of a run.json that names the packages of its cells."""
    cells = [Cell(path, {"package": path}, ()).as_json() for path in paths]
    return {"format": FORMAT, "cells": cells}


def test_the_rows_name_the_package_that_the_run_measured_and_of_several_one_must_be_given(simulate, tmp_path):
    packages = {name: str(tmp_path / name) for name in ("mine", "other")}
    for name in packages:
        (tmp_path / name).mkdir()
        (tmp_path / name / "app.py").write_text("def handler(event, context): pass\n")
    store(tmp_path, [record(1, 0.3) for _ in range(5)], **of_packages(*packages.values()))
    chosen = ("--set", "handler=app.handler", "--set", "concurrency_value=1", "--format", "json")
    status, _, err = simulate("function", *chosen)
    assert (status, "has 2 values of package" in err) == (2, True)
    assert all(path in err for path in packages.values())
    _, out, _ = simulate("function", *chosen, "--set", f"package={packages['other']}")
    assert {row["package"] for row in json.loads(out)} == {"other"}
    one = of_packages(packages["mine"])
    (tmp_path / RUN_ID / "run.json").write_text(
        json.dumps({"run_id": RUN_ID, "experiment": "function", "target": "aws"} | one)
    )
    _, out, _ = simulate("function", *chosen)
    assert {row["package"] for row in json.loads(out)} == {"mine"}


def test_a_package_that_is_no_text_is_none(simulate, tmp_path):
    cells = [
        Cell(name, {"package": package, "memory_size": 1769, "concurrency_value": 1}, ()).as_json()
        for name, package in (("a", 1.5), ("b", "/not/there"))
    ]
    store(tmp_path, [record(1, 0.3)] * 2, format=FORMAT, cells=cells)
    status, _, err = simulate("function")
    assert (status, "the package /not/there, which isn't there any more" in err) == (0, True)
