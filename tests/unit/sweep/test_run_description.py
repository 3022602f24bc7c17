"""run.json: what the model said of a sweep before there was anything to set it against."""

import json
from contextlib import nullcontext
from dataclasses import asdict, replace

import pytest

from experiments import EXPERIMENTS
from stampede.cli.command_line import main
from stampede.cli.verbs import sweep
from stampede.errors import RunError
from stampede.planning.cost import estimate
from stampede.planning.plan import make_plan
from stampede.planning.predicting import parameters_of, predictions
from stampede.runs.folder import RunFolder
from stampede.stacks.infra_variables import infra_defaults
from stampede.sweep.sweep import description_of

DOWNLOAD = EXPERIMENTS["download"]
DEFAULTS = infra_defaults({})
PLAN = make_plan(DOWNLOAD, "aws", ["memory_size=2048", "concurrency_value=1,2"], messages_per_concurrency=1)


@pytest.fixture
def folder(tmp_path):
    return RunFolder.create(tmp_path, "r")


def describe(folder):
    return description_of(folder, PLAN, estimate(PLAN))


def test_a_run_keeps_what_was_predicted_of_each_cell_and_with_which_parameters(folder):
    known, forecasts = parameters_of(DOWNLOAD), predictions(PLAN)
    description = describe(folder)
    description.predicted(forecasts, known)
    description.write()
    stored = folder.read_json("run.json")["prediction"]
    assert (stored["place"], stored["seed"], stored["date"][:2]) == ("aws", 1, "20")
    assert stored["cells"] == json.loads(json.dumps({name: forecast.as_dict() for name, forecast in forecasts.items()}))
    assert {*stored["cells"]} == {cell.name for cell in PLAN.cells}
    assert stored["parameters"] == [asdict(known.row(name)) for name in known]


def test_a_run_that_goes_on_keeps_the_prediction_that_it_began_with(folder):
    known, forecasts = parameters_of(DOWNLOAD), predictions(PLAN)
    began = describe(folder)
    began.predicted(forecasts, known)
    began.write()
    going_on = describe(folder)
    going_on.predicted({name: replace(forecast, avg_s=99.0) for name, forecast in forecasts.items()}, known)
    going_on.write()
    assert all(cell["avg_s"] < 99 for cell in folder.read_json("run.json")["prediction"]["cells"].values())


def test_a_sweep_on_aws_is_predicted_before_anything_is_applied(monkeypatch, tmp_path, capsys):
    noted = []

    class Run:
        def __init__(self, *_):
            pass

        def predicted(self, forecasts, known):
            noted.append((forecasts, known))

        def run(self):
            noted.append("applied")
            raise RunError("enough")

    monkeypatch.setattr("stampede.sweep.sweep.SweepRun", Run)
    monkeypatch.setattr("stampede.sweep.swept_stack.SweptStack", lambda *_, **__: None)
    monkeypatch.setattr("stampede.stacks.stack_lock.holding", lambda *_: nullcontext(lambda run_id: None))
    monkeypatch.setattr(sweep.doctor, "refuse_if_impossible", lambda *_: None)
    settings = ["--set", "memory_size=2048", "--set", "concurrency_value=100", "--messages-per-concurrency", "1"]
    assert main(["sweep", "download", "--target", "aws", *settings, "--results-dir", str(tmp_path)]) == 1
    [(forecasts, known), applied] = noted
    assert (len(known) > 50, applied, *forecasts) == (True, "applied", "memory_size=2048,concurrency_value=100")
    assert "floods: memory_size=2048,concurrency_value=100: N is never reached" in capsys.readouterr().err
