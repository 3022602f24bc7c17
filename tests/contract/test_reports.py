"""The report of every experiment's default sweep, with a synthetic run made from its
declaration."""

import json
import re

import pytest

from experiments import EXPERIMENTS
from stampede import insights
from stampede.checkout import QUERIES, ROOT
from stampede.planning.demand import demands
from stampede.planning.plan import make_plan
from stampede.report.charts import Chart
from stampede.report.rebuild import build
from stampede.report.run import load
from stampede.runs import cells
from stampede.runs.folder import RunFolder
from stampede.runs.store import open_store
from tests.contract import synthetic
from tests.contract.pages import check, page_of, text_of

# The published regular expression, with the experiment's own time field.
PUBLISHED = (
    r'"concurrency_limit": (\d+), "{time}": ([\d.]+), "memory_size": (\d+), '
    r'"experiment_tag": "([^"]*)"'
)


@pytest.fixture(scope="module", params=EXPERIMENTS)
def experiment(request):
    return EXPERIMENTS[request.param]


@pytest.mark.parametrize("target", ["local", "aws"])
def test_its_default_sweep_is_answered_on_one_screen(experiment, target, tmp_path, monkeypatch):
    monkeypatch.setattr(Chart, "png", b"")  # the SVG is on the page
    forecast = {"cells": {cell.name: {"avg_s": 1.0} for cell in cells_of(experiment)}}
    keys = {"target": target, "account": {"region": "us-east-1"}, "prediction": forecast}
    folder = synthetic.write(tmp_path / "run", experiment, **keys)
    rebuilt = build(folder)
    assert (rebuilt.problems, rebuilt.warnings) == ([], [])
    check(folder)
    text = text_of(page_of(folder).find("body"))
    assert [words in text for words in ("Predicted mean", "Estimated cost")] == [
        target == "aws"
    ] * 2
    assert all(row["count"] for row in rebuilt.table.rows if row["is_measured"])


def test_records_alone_name_their_experiment(experiment, tmp_path):
    folder = synthetic.write(tmp_path / "run", experiment)
    (folder / "run.json").unlink()
    assert load(folder).experiment.name == experiment.name


def cells_of(experiment):
    return demands(make_plan(experiment, "local", (), messages_per_concurrency=1))


def test_the_report_and_the_published_query_accept_its_records(experiment, tmp_path):
    fields = {metric.field for metric in experiment.metrics[1:]} - {experiment.time_field}
    recorded = set()
    for cell in {
        synthetic.kind_of(experiment, cell): cell for cell in cells_of(experiment)
    }.values():
        ok = synthetic.record(experiment, cell, **{experiment.time_field: 12.5})
        failed = synthetic.record(experiment, cell, status="error", error_type="E")
        lines = [
            json.dumps(record)
            for record in (ok, failed, ok | {experiment.axes[0].record_field: None})
        ]
        (tmp_path / "records.jsonl").write_text("\n".join(lines))
        store = open_store(RunFolder(tmp_path), {"experiment": experiment.name})
        assert store.rows("SELECT status FROM operations ORDER BY line") == [("ok",), ("error",)]
        assert "line 3: not a valid record" in store.refused[0]
        recorded |= {
            name
            for name in fields
            if store.rows(f"SELECT {name} FROM operations")[0][0] is not None
        }
        match = re.match("{" + PUBLISHED.format(time=experiment.time_field), lines[0])
        assert match.groups() == (str(cell.concurrency), "12.5", str(cell.memory_mb), synthetic.TAG)
    assert recorded == fields


def test_its_saved_queries_give_rows_over_its_log_lines(experiment, tmp_path):
    events = synthetic.write(tmp_path / "run", experiment) / "log_events.jsonl"
    # `copy_host` shares the queries of `copy`, except for its own of the same name.
    folders = (experiment.name.partition("_")[0], experiment.name)
    files = {
        file.stem: file for folder in folders for file in sorted((QUERIES / folder).glob("*.cwli"))
    }
    rows = {name: insights.evaluate(file.read_text(), events).rows for name, file in files.items()}
    assert [name for name in rows if not rows[name]] == []
    columns = {name for row in rows[experiment.query] for name in row}
    metrics = {metric.name for metric in experiment.metrics if metric.queried} - {"seconds"}
    assert metrics <= columns <= set(cells.header(experiment))


def test_the_page_of_results_names_its_columns_in_their_order(experiment):
    page = (ROOT / "docs/results.md").read_text().partition("## cells.csv")[2]
    [row] = re.findall(rf"^\| `{experiment.name}` \|(.*)\|(.*)\|(.*)\|$", page, re.MULTILINE)
    before, after, metrics = (re.findall(r"`(\w+)`", part) for part in row)
    seconds = ["count", *cells.SECONDS]
    assert [*before, *seconds, *after, *metrics] == list(cells.header(experiment))


def test_a_planned_cell_without_a_record_keeps_its_row_and_is_reported(experiment, tmp_path):
    folder = synthetic.write(tmp_path / "run", experiment, unmeasured=1)
    rebuilt = build(folder)
    [warning] = rebuilt.warnings
    assert "1 of" in warning and "--resume run --results-dir" in warning
    run = load(folder)
    rows = [row["cell"] for row in rebuilt.table.rows if row["is_measured"] and not row["count"]]
    assert [run.key_of(name) for name in run.unfinished] == rows
    texts = [[field.text(row) for field in rebuilt.table.read] for row in rebuilt.table.rows]
    assert len(set(map(tuple, texts))) == len(texts)  # each row identifies its cell
